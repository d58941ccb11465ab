//! State that other layers keep with a node.

use std::{
    any::Any,
    fmt,
    marker::PhantomData,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak,
        atomic::{AtomicU64, Ordering},
    },
};

use arc_swap::ArcSwap;

/// Names one attachment of each node; made once by the layer that owns the attachments.
///
/// Clones are handles of the same key. What is kept under a key lives as long as both the node and the key: it is dropped with
/// the node, and on all nodes with the last clone of the key. So a layer that is thrown away leaves nothing behind.
///
/// ```
/// use ringfence_balancer::AttachmentKey;
///
/// let key: AttachmentKey<String> = AttachmentKey::unique();
/// assert_eq!(key, key.clone());
/// assert_ne!(key, AttachmentKey::unique());
/// ```
pub struct AttachmentKey<T> {
    owner: Arc<Owner>,
    stores: PhantomData<fn() -> T>,
}

impl<T> AttachmentKey<T> {
    /// A key that no other part of the process has.
    #[must_use]
    pub fn unique() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self {
            owner: Arc::new(Owner {
                id: NEXT.fetch_add(1, Ordering::Relaxed),
                shelves: Mutex::default(),
            }),
            stores: PhantomData,
        }
    }
}

// Not derived: that would ask the same of `T`.
impl<T> Clone for AttachmentKey<T> {
    fn clone(&self) -> Self {
        Self {
            owner: Arc::clone(&self.owner),
            stores: PhantomData,
        }
    }
}

impl<T> PartialEq for AttachmentKey<T> {
    fn eq(&self, other: &Self) -> bool {
        self.owner.id == other.owner.id
    }
}

impl<T> Eq for AttachmentKey<T> {}

impl<T> fmt::Debug for AttachmentKey<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AttachmentKey")
            .field(&self.owner.id)
            .finish()
    }
}

/// What the clones of a key share; clears the shelves when the last one goes.
struct Owner {
    id: u64,
    shelves: Mutex<Shelves>,
}

/// The nodes that keep something for a key.
#[derive(Default)]
struct Shelves {
    known: Vec<Weak<Shelf>>,
    /// Nodes that are gone are left out when there are so many.
    sweep_at: usize,
}

impl Owner {
    fn remember(&self, shelf: &Arc<Shelf>) {
        let mut shelves = lock(&self.shelves);
        if shelves.known.len() >= shelves.sweep_at {
            shelves.known.retain(|shelf| shelf.strong_count() > 0);
            shelves.sweep_at = (2 * shelves.known.len()).max(16);
        }
        shelves.known.push(Arc::downgrade(shelf));
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        let known = std::mem::take(&mut lock(&self.shelves).known);
        for shelf in known.iter().filter_map(Weak::upgrade) {
            shelf.remove(self.id);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No code of others runs under these locks.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

type Slot<T> = OnceLock<Arc<T>>;

#[derive(Clone)]
struct Entry {
    key: u64,
    /// The key's [`Slot`].
    slot: Arc<dyn Any + Send + Sync>,
}

/// All attachments of a node, by key. Reading never locks; writing copies the list, which has one entry for each layer.
#[derive(Default)]
struct Shelf {
    entries: ArcSwap<Vec<Entry>>,
    writing: Mutex<()>,
}

impl Shelf {
    fn get<T: Send + Sync + 'static>(&self, key: u64) -> Option<Arc<T>> {
        self.read(key, Arc::clone)
    }

    #[inline]
    fn read<T: Send + Sync + 'static, R>(
        &self,
        key: u64,
        read: impl FnOnce(&Arc<T>) -> R,
    ) -> Option<R> {
        let entries = self.entries.load();
        let place = place(&entries, key).ok()?;
        let slot = entries.get(place)?.slot.downcast_ref::<Slot<T>>()?;
        slot.get().map(read)
    }

    /// The key's slot, and whether it is new.
    fn slot<T: Send + Sync + 'static>(&self, key: u64) -> (Arc<Slot<T>>, bool) {
        let _writing = lock(&self.writing);
        let mut entries = Vec::clone(&self.entries.load());
        let slot = Arc::new(Slot::<T>::new());
        let entry = Entry {
            key,
            slot: Arc::clone(&slot) as _,
        };
        match place(&entries, key) {
            Ok(place) => {
                let known = entries.get(place).map(|entry| Arc::clone(&entry.slot));
                // A key has one type, so it is never another one.
                if let Some(Ok(known)) = known.map(Arc::downcast) {
                    return (known, false);
                }
            }
            Err(place) => entries.insert(place, entry),
        }
        self.entries.store(Arc::new(entries));
        (slot, true)
    }

    fn remove(&self, key: u64) {
        let before = {
            let _writing = lock(&self.writing);
            let mut entries = Vec::clone(&self.entries.load());
            entries.retain(|entry| entry.key != key);
            self.entries.swap(Arc::new(entries))
        };
        // What a value does when it goes is the business of its layer: not under the lock.
        drop(before);
    }
}

fn place(entries: &[Entry], key: u64) -> Result<usize, usize> {
    entries.binary_search_by_key(&key, |entry| entry.key)
}

/// What layers keep with a node.
#[derive(Default)]
pub(super) struct Attachments {
    shelf: Arc<Shelf>,
}

impl Attachments {
    pub(super) fn get<T: Send + Sync + 'static>(&self, key: &AttachmentKey<T>) -> Option<Arc<T>> {
        self.shelf.get(key.owner.id)
    }

    /// What `read` makes of it, without another handle of it; `None` where it is not made yet.
    pub(super) fn read<T: Send + Sync + 'static, R>(
        &self,
        key: &AttachmentKey<T>,
        read: impl FnOnce(&T) -> R,
    ) -> Option<R> {
        self.shelf.read(key.owner.id, |value| read(value))
    }

    pub(super) fn get_or_init<T, F>(&self, key: &AttachmentKey<T>, init: F) -> Arc<T>
    where
        T: Send + Sync + 'static,
        F: FnOnce() -> T,
    {
        if let Some(value) = self.get(key) {
            return value;
        }
        // The key outlives this call, so the slot is not taken away meanwhile.
        let (slot, is_new) = self.shelf.slot(key.owner.id);
        if is_new {
            key.owner.remember(&self.shelf);
        }
        Arc::clone(slot.get_or_init(|| Arc::new(init())))
    }
}

impl fmt::Debug for Attachments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entries = self.shelf.entries.load();
        f.debug_list()
            .entries(entries.iter().map(|entry| entry.key))
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[test]
    fn each_key_has_its_own_value_which_is_made_once() {
        let attachments = Attachments::default();
        let text: AttachmentKey<String> = AttachmentKey::unique();
        let number: AttachmentKey<usize> = AttachmentKey::unique();
        let other: AttachmentKey<usize> = AttachmentKey::unique();
        let made = AtomicUsize::new(0);
        let count = || made.fetch_add(1, Ordering::Relaxed);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..100 {
                        let kept = attachments.get_or_init(&text, || {
                            count();
                            "text".to_owned()
                        });
                        assert_eq!(*kept, "text");
                        attachments.get_or_init(&number, count);
                        attachments.get_or_init(&other, count);
                    }
                });
            }
        });
        assert_eq!(made.load(Ordering::Relaxed), 3);
        assert_ne!(
            attachments.get_or_init(&number, || 99),
            attachments.get_or_init(&other, || 99)
        );
    }

    #[test]
    fn a_value_goes_with_the_last_clone_of_its_key() {
        let (here, there) = (Attachments::default(), Attachments::default());
        let (key, stays) = (AttachmentKey::unique(), AttachmentKey::unique());
        let (value, other) = (Arc::new(()), Arc::new(()));
        for attachments in [&here, &there] {
            attachments.get_or_init(&key, || Arc::clone(&value));
            attachments.get_or_init(&stays, || Arc::clone(&other));
        }
        let clone = key.clone();
        drop(key);
        assert_eq!(Arc::strong_count(&value), 3);
        drop(clone);
        assert_eq!(Arc::strong_count(&value), 1);
        assert_eq!(Arc::strong_count(&other), 3);
        drop(here);
        assert_eq!(Arc::strong_count(&other), 2);
        drop((there, stays));
        assert_eq!(Arc::strong_count(&other), 1);
    }

    #[test]
    fn a_key_for_each_request_leaves_nothing_behind() {
        let attachments = Attachments::default();
        for n in 0..20_000_usize {
            let key = AttachmentKey::unique();
            assert_eq!(*attachments.get_or_init(&key, || n), n);
        }
        assert_eq!(format!("{attachments:?}"), "[]");
        // And those that are kept for long do no harm when they go.
        let keys: Vec<AttachmentKey<usize>> = (0..500).map(|_| AttachmentKey::unique()).collect();
        for key in &keys {
            attachments.get_or_init(key, || 1);
        }
        drop(attachments);
        drop(keys);
    }

    #[test]
    fn a_key_forgets_nodes_that_are_gone() {
        let key: AttachmentKey<usize> = AttachmentKey::unique();
        for n in 0..1_000 {
            Attachments::default().get_or_init(&key, || n);
        }
        assert!(lock(&key.owner.shelves).known.len() <= 16);
    }

    #[test]
    fn keys_that_come_and_go_on_many_threads_share_nothing() {
        let attachments = Attachments::default();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for n in 0..200_usize {
                        let key = AttachmentKey::unique();
                        let clone = key.clone();
                        assert_eq!(*attachments.get_or_init(&key, || n), n);
                        drop(key);
                        assert_eq!(*attachments.get_or_init(&clone, || n + 1), n);
                    }
                });
            }
        });
        assert_eq!(format!("{attachments:?}"), "[]");
    }
}

//! State that other layers keep with a node.

use std::{
    any::Any,
    fmt,
    marker::PhantomData,
    sync::{
        OnceLock,
        atomic::{AtomicU64, Ordering},
    },
};

/// Names one attachment of each node; made once by the layer that owns the attachments.
///
/// Two keys never collide, and a key is bound to the type that it stores.
///
/// ```
/// use ringfence_balancer::AttachmentKey;
///
/// let key: AttachmentKey<String> = AttachmentKey::unique();
/// assert_ne!(key, AttachmentKey::unique());
/// ```
pub struct AttachmentKey<T> {
    id: u64,
    stores: PhantomData<fn() -> T>,
}

impl<T> AttachmentKey<T> {
    /// A key that no other part of the process has.
    #[must_use]
    pub fn unique() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            stores: PhantomData,
        }
    }
}

// Not derived: that would ask the same of `T`.
impl<T> Clone for AttachmentKey<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for AttachmentKey<T> {}

impl<T> PartialEq for AttachmentKey<T> {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl<T> Eq for AttachmentKey<T> {}

impl<T> fmt::Debug for AttachmentKey<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AttachmentKey").field(&self.id).finish()
    }
}

struct Link {
    key: u64,
    /// The key's `OnceLock<T>`.
    value: Box<dyn Any + Send + Sync>,
    next: OnceLock<Box<Link>>,
}

/// An append-only list: reading never locks, and there is one entry for each layer, so it is short.
#[derive(Default)]
pub(super) struct Attachments {
    head: OnceLock<Box<Link>>,
}

impl Attachments {
    pub(super) fn get_or_init<T, F>(&self, key: AttachmentKey<T>, init: F) -> &T
    where
        T: Send + Sync + 'static,
        F: FnOnce() -> T,
    {
        let mut place = &self.head;
        loop {
            let link = place.get_or_init(|| {
                Box::new(Link {
                    key: key.id,
                    value: Box::new(OnceLock::<T>::new()),
                    next: OnceLock::new(),
                })
            });
            if link.key == key.id
                && let Some(value) = link.value.downcast_ref::<OnceLock<T>>()
            {
                return value.get_or_init(init);
            }
            place = &link.next;
        }
    }
}

impl fmt::Debug for Attachments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut keys = f.debug_list();
        let mut place = &self.head;
        while let Some(link) = place.get() {
            keys.entry(&link.key);
            place = &link.next;
        }
        keys.finish()
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
                        assert_eq!(
                            attachments.get_or_init(text, || {
                                count();
                                "text".to_owned()
                            }),
                            "text"
                        );
                        attachments.get_or_init(number, count);
                        attachments.get_or_init(other, count);
                    }
                });
            }
        });
        assert_eq!(made.load(Ordering::Relaxed), 3);
        assert_ne!(
            attachments.get_or_init(number, || 99),
            attachments.get_or_init(other, || 99)
        );
    }
}

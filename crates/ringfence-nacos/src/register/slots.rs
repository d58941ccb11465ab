use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError},
};

use crate::{NacosConfig, client::Key, naming::Target, sdk::Connection};

static SHARED: LazyLock<Mutex<HashMap<Key, Arc<Slots>>>> = LazyLock::new(Mutex::default);

/// The connections that register, of one user in one namespace. Each holds at most one instance of a service, since the library
/// forgets all but the last one when it connects anew.
pub(super) struct Slots {
    make: Box<dyn Fn() -> Connection + Send + Sync>,
    all: Mutex<Vec<Place>>,
}

struct Place {
    connection: Arc<Connection>,
    taken: HashSet<Target>,
}

impl Slots {
    pub(super) fn shared(config: &NacosConfig) -> Arc<Self> {
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        let make = || {
            let config = config.clone();
            Arc::new(Self::new(move || Connection::new(&config)))
        };
        shared.entry(Key::of(config)).or_insert_with(make).clone()
    }

    fn new(make: impl Fn() -> Connection + Send + Sync + 'static) -> Self {
        Self {
            make: Box::new(make),
            all: Mutex::default(),
        }
    }

    /// A connection on which nobody has registered an instance of this service.
    pub(super) fn take(self: &Arc<Self>, target: &Target) -> Slot {
        let mut all = self.lock();
        let free = all.iter().position(|place| !place.taken.contains(target));
        let number = free.unwrap_or_else(|| {
            all.push(Place {
                connection: Arc::new((self.make)()),
                taken: HashSet::new(),
            });
            all.len() - 1
        });
        let place = &mut all[number];
        place.taken.insert(target.clone());
        Slot {
            slots: self.clone(),
            number,
            target: target.clone(),
            connection: place.connection.clone(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Place>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.lock().len()
    }
}

/// One connection's place for one service; free again when dropped.
pub(super) struct Slot {
    slots: Arc<Slots>,
    number: usize,
    target: Target,
    pub(super) connection: Arc<Connection>,
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some(place) = self.slots.lock().get_mut(self.number) {
            place.taken.remove(&self.target);
        }
    }
}

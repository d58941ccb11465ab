use std::collections::HashMap;

/// A cache that keeps nothing but which keys it would have.
#[derive(Debug)]
pub(super) struct Lru {
    capacity: usize,
    places: HashMap<u64, usize>,
    entries: Vec<Entry>,
    newest: usize,
    oldest: usize,
}

#[derive(Debug)]
struct Entry {
    key: u64,
    newer: usize,
    older: usize,
}

const NOBODY: usize = usize::MAX;

impl Lru {
    /// Room for so many keys, at least one.
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            capacity: capacity.max(1),
            places: HashMap::new(),
            entries: Vec::new(),
            newest: NOBODY,
            oldest: NOBODY,
        }
    }

    /// Asks for a key, and keeps it in place of the one that was not asked for longest. True if it was there.
    pub(super) fn ask(&mut self, key: u64) -> bool {
        if let Some(&place) = self.places.get(&key) {
            self.unlink(place);
            self.link(place);
            return true;
        }
        let place = if self.entries.len() < self.capacity {
            self.entries.push(Entry {
                key,
                newer: NOBODY,
                older: NOBODY,
            });
            self.entries.len() - 1
        } else {
            let place = self.oldest;
            self.unlink(place);
            if let Some(entry) = self.entries.get_mut(place) {
                self.places.remove(&entry.key);
                entry.key = key;
            }
            place
        };
        self.places.insert(key, place);
        self.link(place);
        false
    }

    fn unlink(&mut self, place: usize) {
        let Some(entry) = self.entries.get(place) else {
            return;
        };
        let (newer, older) = (entry.newer, entry.older);
        match self.entries.get_mut(newer) {
            Some(entry) => entry.older = older,
            None => self.newest = older,
        }
        match self.entries.get_mut(older) {
            Some(entry) => entry.newer = newer,
            None => self.oldest = newer,
        }
    }

    fn link(&mut self, place: usize) {
        let before = self.newest;
        if let Some(entry) = self.entries.get_mut(place) {
            entry.newer = NOBODY;
            entry.older = before;
        }
        match self.entries.get_mut(before) {
            Some(entry) => entry.newer = place,
            None => self.oldest = place,
        }
        self.newest = place;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_has_what_a_list_of_the_latest_has(keys in prop::collection::vec(0u64..12, 0..200), capacity in 1usize..8) {
            let mut lru = Lru::new(capacity);
            let mut latest: Vec<u64> = Vec::new();
            for key in keys {
                let was_there = latest.contains(&key);
                latest.retain(|known| *known != key);
                latest.push(key);
                if latest.len() > capacity {
                    latest.remove(0);
                }
                prop_assert_eq!(lru.ask(key), was_there);
                prop_assert!(lru.places.len() <= capacity && lru.entries.len() <= capacity);
            }
        }
    }
}

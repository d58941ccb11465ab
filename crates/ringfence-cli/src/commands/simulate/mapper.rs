use std::{collections::BTreeMap, sync::Arc};

use ringfence_core::{Ring, RingConfig};

use crate::input::{Algorithm, Fleet, ring};

/// Numbers for the ids of all fleets.
#[derive(Default)]
pub(super) struct Ids {
    numbers: BTreeMap<String, u32>,
    names: Vec<String>,
}

impl Ids {
    fn number(&mut self, id: &str) -> u32 {
        if let Some(number) = self.numbers.get(id) {
            return *number;
        }
        // More ids than that do not fit into a file that is read.
        let number = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        self.numbers.insert(id.to_owned(), number);
        self.names.push(id.to_owned());
        number
    }

    pub(super) fn find(&self, id: &str) -> Option<u32> {
        self.numbers.get(id).copied()
    }

    pub(super) fn name(&self, number: u32) -> Option<&str> {
        self.names.get(number as usize).map(String::as_str)
    }
}

/// Finds the owners of keys in one fleet, as numbers of [`Ids`].
pub(super) struct Mapper {
    how: How,
    numbers: Vec<u32>,
}

enum How {
    Ring(Arc<Ring>),
    /// The hash of the key modulo the number of instances, in the order of the file.
    Modulo(RingConfig),
}

impl Mapper {
    pub(super) fn new(algorithm: &Algorithm, fleet: &Fleet, ids: &mut Ids) -> Self {
        match algorithm {
            Algorithm::Ring(config) => {
                let (pool, ring) = ring(fleet, config);
                Self {
                    how: How::Ring(ring),
                    numbers: pool.iter().map(|i| ids.number(i.id().as_str())).collect(),
                }
            }
            Algorithm::Modulo => {
                let takers = fleet.instances.iter().filter(|i| i.takes_traffic());
                Self {
                    how: How::Modulo(RingConfig::default()),
                    numbers: takers.map(|i| ids.number(i.id().as_str())).collect(),
                }
            }
        }
    }

    pub(super) fn owner(&self, key: &[u8]) -> Option<u32> {
        let place = match &self.how {
            How::Ring(ring) => ring.owner(ring.config().hash_key(key))? as usize,
            How::Modulo(config) => {
                let count = u64::try_from(self.numbers.len()).ok()?;
                let place = config.hash_key(key).get().checked_rem(count)?;
                usize::try_from(place).ok()?
            }
        };
        self.numbers.get(place).copied()
    }

    pub(super) fn ring(&self) -> Option<&Ring> {
        match &self.how {
            How::Ring(ring) => Some(ring),
            How::Modulo(_) => None,
        }
    }
}

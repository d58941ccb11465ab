//! One setting at a time, as a command line gives them.

use serde::de::DeserializeOwned;

use super::RingSettings;
use crate::{PolicyError, document::read};

impl RingSettings {
    /// Sets one of the settings by its name in documents; the value is written as there: `set("host_order", "sorted")`,
    /// `set("buckets", "[a, b]")`. Set the algorithm first. That the value is in its range is checked when the settings are
    /// [converted](Self#impl-TryFrom<%26RingSettings>-for-RingConfig).
    ///
    /// # Errors
    /// [`PolicyError`] of a name that is not known or belongs to another algorithm, and of a value that is not of the setting's type; its
    /// path is the name.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), PolicyError> {
        if name == "algorithm" {
            self.algorithm = parsed(name, value)?;
            return Ok(());
        }
        self.algorithm.check(name)?;
        match name {
            "points_per_instance" => self.points_per_instance = Some(parsed(name, value)?),
            "probes" => self.probes = Some(parsed(name, value)?),
            "seed" => self.seed = Some(parsed(name, value)?),
            "max_ring_points" => self.max_ring_points = Some(parsed(name, value)?),
            "min_ring_size" => self.min_ring_size = Some(parsed(name, value)?),
            "max_ring_size" => self.max_ring_size = Some(parsed(name, value)?),
            "host_order" => self.host_order = Some(parsed(name, value)?),
            "hash" => self.hash = Some(parsed(name, value)?),
            "table_size" => self.table_size = Some(parsed(name, value)?),
            "weight_unit" => self.weight_unit = Some(parsed(name, value)?),
            "variant" => self.variant = Some(parsed(name, value)?),
            "buckets" => self.buckets = Some(parsed(name, value)?),
            "slots" => self.slots = Some(parsed(name, value)?),
            _ => return Err(self.algorithm.without(name)),
        }
        Ok(())
    }
}

fn parsed<T: DeserializeOwned>(name: &str, value: &str) -> Result<T, PolicyError> {
    read(value).map_err(|error| PolicyError::new(name, error.reason()))
}

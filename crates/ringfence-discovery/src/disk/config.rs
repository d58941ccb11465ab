use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use ringfence_core::ConfigError;

const MINUTE: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// A folder with copies of services, for starts while the registry is away.
///
/// The last list that the registry confirmed is kept there. A program that starts and hears nothing of the registry uses
/// the copy until the first live list, and never again after it: the copy goes at once then, whatever it said. An empty live
/// state is held as long as any other ([`WatchConfig::empty_hold`](crate::WatchConfig::empty_hold)) while the copy has
/// instances. A copy without instances is not used, since it bridges nothing.
///
/// Data from a copy counts as stale until the registry is heard, and [`Provenance::disk_age`](crate::Provenance::disk_age)
/// tells its age.
///
/// A file that is cut, altered, too old, of another version or of another service is ignored, and so is, on Unix, one of
/// another user or one that others may write, since it decides where requests go. (Volumes whose files are given to a group
/// when they are mounted, as by Kubernetes' `fsGroup`, are therefore of no use.) Where nothing can be written everything works
/// but the copy. [`WatchCounters`](crate::WatchCounters) counts both, and the log tells why.
///
/// A file is written beside the requests and the watch, at most once per second; of several states the last one counts. A
/// program that ends at once may leave the state before. Several processes may share a folder; each writes whole files. Clients of one registry with different credentials have
/// the same files: give them a folder each where they do not see the same instances.
///
/// # Examples
/// ```
/// use std::time::Duration;
/// use ringfence_discovery::{DiskSnapshots, WatchConfig};
///
/// let copies = DiskSnapshots::new("/var/lib/shop/ringfence").with_max_age(Duration::from_secs(3_600))?;
/// let config = WatchConfig::default().with_disk_snapshots(copies);
/// assert!(config.disk_snapshots().is_some());
/// # Ok::<(), ringfence_core::ConfigError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DiskSnapshots {
    dir: PathBuf,
    max_age: Duration,
    use_after: Duration,
}

impl DiskSnapshots {
    /// Copies in this folder, which is made, for this user only, when the first one is written.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self {
            dir: dir.into(),
            max_age: DAY,
            use_after: Duration::from_secs(1),
        }
    }

    /// The folder.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Oldest copy that is used, by when the registry last confirmed it. Default 24 h.
    #[must_use]
    pub fn max_age(&self) -> Duration {
        self.max_age
    }

    /// Sets the age of the oldest copy that is used; range 1 min..=30 d. A state that stays the same is written anew after an
    /// eighth of it.
    ///
    /// # Errors
    /// [`ConfigError`] when it is outside its range.
    pub fn with_max_age(mut self, age: Duration) -> Result<Self, ConfigError> {
        self.max_age = ConfigError::check("max_age", age, MINUTE..=30 * DAY)?;
        Ok(self)
    }

    /// How long the registry is waited for before the copy is used. An error of the registry ends the wait. Default 1 s.
    #[must_use]
    pub fn use_after(&self) -> Duration {
        self.use_after
    }

    /// Sets how long the registry is waited for; range 0..=1 min.
    ///
    /// # Errors
    /// [`ConfigError`] when it is outside its range.
    pub fn with_use_after(mut self, wait: Duration) -> Result<Self, ConfigError> {
        self.use_after = ConfigError::check("use_after", wait, Duration::ZERO..=MINUTE)?;
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_checked_at_their_ends() {
        let copies = || DiskSnapshots::new("copies");
        let milli = Duration::from_millis(1);
        assert!(copies().with_max_age(MINUTE).is_ok());
        assert!(copies().with_max_age(MINUTE - milli).is_err());
        assert!(copies().with_max_age(30 * DAY).is_ok());
        assert!(copies().with_max_age(30 * DAY + milli).is_err());
        assert!(copies().with_use_after(Duration::ZERO).is_ok());
        assert!(copies().with_use_after(MINUTE).is_ok());
        assert!(copies().with_use_after(MINUTE + milli).is_err());
    }
}

use std::{fmt, sync::Arc, time::Duration};

use ringfence_core::{Instance, Snapshot};

/// What a source says of one service: always all of it, never a difference.
///
/// # Examples
/// ```
/// use ringfence_core::Instance;
/// use ringfence_discovery::{Provenance, ServiceState, Update};
///
/// let instance = Instance::builder("a", "10.0.0.1:80").build()?;
/// let update = Update::instances([instance], Provenance::live("zk")).with_revision(7);
/// assert!(matches!(update.state, ServiceState::Instances(s) if s.len() == 1));
/// # Ok::<(), ringfence_core::InstanceError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Update {
    /// The instances, or that there is no such service.
    pub state: ServiceState,
    /// The registry's own counter for this state, where it has one whose values can be compared.
    pub revision: Option<Revision>,
    /// Where the state comes from.
    pub provenance: Provenance,
    /// Records that are no instances and were left out.
    pub rejected: Vec<RejectedRecord>,
}

impl Update {
    /// The service exists and these are all of its instances, possibly none.
    pub fn instances(
        instances: impl IntoIterator<Item = Instance>,
        provenance: Provenance,
    ) -> Self {
        Self::snapshot(Arc::new(Snapshot::new(instances)), provenance)
    }

    /// The service exists and this is all of it.
    #[must_use]
    pub fn snapshot(snapshot: Arc<Snapshot>, provenance: Provenance) -> Self {
        Self {
            state: ServiceState::Instances(snapshot),
            revision: None,
            provenance,
            rejected: Vec::new(),
        }
    }

    /// The registry answers and knows no such service.
    #[must_use]
    pub fn no_such_service(provenance: Provenance) -> Self {
        Self {
            state: ServiceState::NoSuchService,
            revision: None,
            provenance,
            rejected: Vec::new(),
        }
    }

    /// Sets the registry's counter. Only set it where a later state has a higher (or equal) number.
    #[must_use]
    pub fn with_revision(mut self, revision: impl Into<Revision>) -> Self {
        self.revision = Some(revision.into());
        self
    }

    /// Sets the records that were left out.
    #[must_use]
    pub fn with_rejected(mut self, rejected: Vec<RejectedRecord>) -> Self {
        self.rejected = rejected;
        self
    }
}

/// Whether a service exists, and with which instances.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServiceState {
    /// It exists with these instances; an empty snapshot means that it has none now.
    Instances(Arc<Snapshot>),
    /// The registry does not know the name: rather a typing error than an outage.
    NoSuchService,
}

impl ServiceState {
    /// The instances, if the service exists.
    #[must_use]
    pub fn as_snapshot(&self) -> Option<&Arc<Snapshot>> {
        match self {
            Self::Instances(snapshot) => Some(snapshot),
            Self::NoSuchService => None,
        }
    }

    /// How many instances there are; 0 when there is no such service.
    #[must_use]
    pub fn instance_count(&self) -> usize {
        self.as_snapshot().map_or(0, |snapshot| snapshot.len())
    }
}

/// A registry's counter for the state of a service: Consul's index, etcd's revision, Nacos's timestamp.
///
/// Only numbers of one registry can be compared. It may restart low after the registry was reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Revision(u64);

impl Revision {
    /// Wraps the registry's number.
    #[must_use]
    pub const fn new(revision: u64) -> Self {
        Self(revision)
    }

    /// The registry's number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl From<u64> for Revision {
    fn from(revision: u64) -> Self {
        Self(revision)
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Where an update comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provenance {
    origin: Arc<str>,
    disk_age: Option<Duration>,
}

impl Provenance {
    /// Read from the source called `origin` (such as `consul`) just now.
    pub fn live(origin: impl Into<Arc<str>>) -> Self {
        Self {
            origin: origin.into(),
            disk_age: None,
        }
    }

    /// Read from a copy on disk, written `age` ago, because the source did not answer.
    pub fn disk(origin: impl Into<Arc<str>>, age: Duration) -> Self {
        Self {
            origin: origin.into(),
            disk_age: Some(age),
        }
    }

    /// Name of the source.
    #[must_use]
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// Age of the copy on disk; `None` when the state was read live.
    #[must_use]
    pub fn disk_age(&self) -> Option<Duration> {
        self.disk_age
    }

    /// Whether the state was read live.
    #[must_use]
    pub fn is_live(&self) -> bool {
        self.disk_age.is_none()
    }
}

impl fmt::Display for Provenance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.disk_age {
            None => f.write_str(&self.origin),
            Some(age) => write!(f, "{} (disk copy, {age:.0?} old)", self.origin),
        }
    }
}

/// A record that is no instance: it was left out and the rest used.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RejectedRecord {
    /// Its id, where it could be read.
    pub id: Option<String>,
    /// Its line in the file, from 1, where the source is one.
    pub line: Option<u64>,
    /// What is wrong with it. No secrets.
    pub reason: String,
}

impl RejectedRecord {
    /// A record without a known id or line.
    pub fn new(reason: impl Into<String>) -> Self {
        Self {
            id: None,
            line: None,
            reason: reason.into(),
        }
    }

    /// Sets the id.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Sets the line, from 1.
    #[must_use]
    pub fn with_line(mut self, line: u64) -> Self {
        self.line = Some(line);
        self
    }
}

impl fmt::Display for RejectedRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        if let Some(id) = &self.id {
            write!(f, "instance {id:?}: ")?;
        }
        f.write_str(&self.reason)
    }
}

use std::{fmt, sync::Arc, time::Instant};

use ringfence_core::Snapshot;

use crate::{DiscoveryError, ErrorKind, Provenance, RejectedRecord, Revision};

/// What [`Supervisor::next`](crate::Supervisor::next) reports.
#[derive(Clone, Debug)]
#[non_exhaustive]
#[expect(
    clippy::large_enum_variant,
    reason = "events are few and each is moved once or twice"
)]
pub enum Event {
    /// The service's instances differ from those reported before, or are the first.
    Snapshot(Accepted),
    /// The registry does not know the service, confirmed where it had instances before.
    NoSuchService,
    /// The condition of the watch changed: stale or fresh, a hold began or ended, the watch failed in a new way or recovered.
    /// Counters alone never cause one.
    Status(WatchStatus),
}

/// A snapshot that passed all checks.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Accepted {
    /// All instances; may be empty.
    pub snapshot: Arc<Snapshot>,
    /// The registry's counter for it.
    pub revision: Option<Revision>,
    /// Where it comes from.
    pub provenance: Provenance,
    /// Set when it had been held back as suspicious and proved right.
    pub confirmed_loss: Option<HoldReason>,
}

/// Why a state is held back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum HoldReason {
    /// The service has no instances any more.
    Empty,
    /// The registry does not know the service any more.
    NoSuchService,
    /// Many instances went in one step.
    MassLoss {
        /// Number of instances in use.
        had: usize,
        /// Number of instances in the state held back.
        has: usize,
    },
}

impl HoldReason {
    /// The reason as a label of metrics.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::NoSuchService => "no_such_service",
            Self::MassLoss { .. } => "mass_loss",
        }
    }
}

impl fmt::Display for HoldReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("no instances"),
            Self::NoSuchService => f.write_str("no such service"),
            Self::MassLoss { had, has } => write!(f, "{has} of {had} instances left"),
        }
    }
}

/// Condition and counters of one supervised watch.
///
/// The instants tell how old the data may be; nothing is dropped because of them. They are read from tokio's clock, so where a
/// test pauses that, compare them with `tokio::time::Instant::now().into_std()`.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct WatchStatus {
    /// When the registry was last heard: an update of the watch or a successful read. `None`: never yet.
    pub last_contact: Option<Instant>,
    /// Since when the data counts as stale; `None` while it is fresh. That of a copy on disk does so from the start.
    pub stale_since: Option<Instant>,
    /// The hold under way.
    pub held: Option<HoldStatus>,
    /// Why the watch does not work now; `None` once it delivers again.
    pub watch_error: Option<Arc<DiscoveryError>>,
    /// Why the last read failed; `None` once one succeeds.
    pub fetch_error: Option<Arc<DiscoveryError>>,
    /// The registry's counter for what was last read.
    pub revision: Option<Revision>,
    /// Where the state in use comes from, the registry or a copy on disk; `None` before the first.
    pub provenance: Option<Provenance>,
    /// Records left out of what was last read.
    pub rejected: Arc<[RejectedRecord]>,
    /// Records left out of the state in use because another one had their id.
    pub duplicates: usize,
    /// What happened so far.
    pub counters: WatchCounters,
}

impl WatchStatus {
    /// Whether the registry has been out of contact for too long.
    #[must_use]
    pub fn is_stale(&self) -> bool {
        self.stale_since.is_some()
    }
}

/// A state is held back since then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HoldStatus {
    /// Why.
    pub reason: HoldReason,
    /// Since when.
    pub since: Instant,
    /// From when on a reading of the same kind is believed.
    pub until: Instant,
    /// What the lost instances themselves said; `None` where they were not asked (yet).
    pub probes: Option<LossProbes>,
}

/// How many of those that a held state has lost still answer, by the last round of a
/// [probe](crate::Supervisor::with_loss_probe).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct LossProbes {
    /// Instances that were asked.
    pub asked: usize,
    /// Those of them that answered.
    pub answered: usize,
}

/// Errors of a registry by their [kind](ErrorKind).
///
/// # Examples
/// ```
/// use ringfence_discovery::{ErrorCounts, ErrorKind};
///
/// let counts = ErrorCounts::default();
/// assert_eq!(counts.of(ErrorKind::Unavailable), 0);
/// assert_eq!(counts.total(), 0);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ErrorCounts {
    by_kind: [u64; ErrorKind::ALL.len()],
}

impl ErrorCounts {
    /// Errors of this kind.
    #[must_use]
    pub fn of(&self, kind: ErrorKind) -> u64 {
        self.by_kind.get(kind as usize).copied().unwrap_or_default()
    }

    /// Errors of all kinds.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.by_kind.iter().sum()
    }

    pub(crate) fn count(&mut self, kind: ErrorKind) {
        if let Some(count) = self.by_kind.get_mut(kind as usize) {
            *count += 1;
        }
    }

    pub(crate) fn add(&mut self, others: Self) {
        for (count, more) in self.by_kind.iter_mut().zip(others.by_kind) {
            *count += more;
        }
    }
}

/// How often what happened since the supervisor was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WatchCounters {
    /// Errors that the watch yielded.
    pub watch_errors: u64,
    /// Times the watch was opened anew.
    pub watch_restarts: u64,
    /// Reads that failed or took too long.
    pub fetch_errors: u64,
    /// Both of these, by kind.
    pub errors: ErrorCounts,
    /// Reads that succeeded, for whatever reason they were made.
    pub reads: u64,
    /// States reported.
    pub accepted: u64,
    /// Readings equal to the state in use.
    pub unchanged: u64,
    /// Updates skipped because the watch had a newer one ready.
    pub superseded: u64,
    /// Readings that were dropped because something newer was known.
    pub outdated: u64,
    /// Holds begun.
    pub held: u64,
    /// Those of them that began because a service had no instances any more.
    pub held_empty: u64,
    /// Those that began because the registry did not know the service any more.
    pub held_no_such_service: u64,
    /// Those that began because many instances went in one step.
    pub held_mass_loss: u64,
    /// Holds that ended because the loss was real.
    pub confirmed: u64,
    /// Holds that ended because the registry showed instances again.
    pub released: u64,
    /// Rounds in which lost instances were asked.
    pub loss_probe_rounds: u64,
    /// Times that a hold was made longer because most of them answered.
    pub holds_extended: u64,
    /// Times that a hold was cut short because none did.
    pub holds_cut: u64,
    /// Records left out; a list of rejects that merely repeats is counted once.
    pub rejected_records: u64,
    /// Times the data became stale.
    pub stale: u64,
    /// Copies on disk that were ignored: cut, altered, too old, of something else, or open to others.
    pub disk_rejected: u64,
    /// Times the copy on disk was written or removed.
    pub disk_writes: u64,
    /// Times that failed.
    pub disk_write_errors: u64,
}

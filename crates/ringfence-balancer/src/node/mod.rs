//! Runtime state of an instance.

mod attachment;
mod attempts;
mod identity;
mod in_flight;
mod judging;
mod outcome;
mod presence;
mod recent;
mod reports;
mod streak;
mod table;
mod tally;
#[cfg(test)]
mod tests;
mod totals;
mod trial;
mod withheld;

use std::sync::{
    Arc, Mutex, OnceLock, PoisonError,
    atomic::{AtomicU32, AtomicU64, Ordering},
};

use http::uri::{Authority, InvalidUri};
use ringfence_core::{Absence, Address, EjectionTerm, InstanceId, Scheme};
use tokio::{sync::watch, time::Instant as TokioInstant};

pub use self::{
    attachment::AttachmentKey,
    in_flight::InFlight,
    outcome::{FailureKind, Outcome},
    presence::Presence,
};
use self::{
    attachment::Attachments, attempts::Attempts, judging::Era, presence::Stay, recent::RecentLoad,
    reports::Reporter, streak::Streak, tally::Tally, trial::Trial, withheld::Withholdings,
};
pub(crate) use self::{
    identity::{NodeIdentity, Seat},
    reports::{News, Report, ReportSender, report_channel},
    table::{NodeIndex, NodeTable},
    totals::NodeTotals,
    trial::{HeldSlot, TrialSlot},
};

/// The runtime state of an instance: requests in flight, failures in a row, and what other layers
/// keep with it.
///
/// It lives as long as the instance keeps its id, address and scheme (changes of tags, weight or
/// health do not touch it) and as long as an attempt on it is running.
#[derive(Debug)]
pub struct Node {
    identity: NodeIdentity,
    authority: OnceLock<Result<Authority, InvalidUri>>,
    attempts: Attempts,
    failures: AtomicU64,
    recent: RecentLoad,
    streak: Streak,
    era: AtomicU32,
    /// Why it is ejected, for those who ask.
    term: Mutex<Option<EjectionTerm>>,
    /// Successes since the last ejection; only counted while they matter.
    successes: AtomicU64,
    tally: Tally,
    trial: Trial,
    withheld: Withholdings,
    /// Whether the instance is in the snapshot.
    stay: watch::Sender<Stay>,
    attachments: Attachments,
    reporter: Reporter,
    totals: Arc<NodeTotals>,
}

impl Node {
    fn new(identity: NodeIdentity, reports: ReportSender, totals: Arc<NodeTotals>) -> Self {
        totals.born();
        Self {
            identity,
            authority: OnceLock::new(),
            attempts: Attempts::default(),
            failures: AtomicU64::new(0),
            recent: RecentLoad::default(),
            streak: Streak::default(),
            era: AtomicU32::new(0),
            term: Mutex::default(),
            successes: AtomicU64::new(0),
            tally: Tally::default(),
            trial: Trial::default(),
            withheld: Withholdings::default(),
            stay: watch::Sender::new(Stay::Listed),
            attachments: Attachments::default(),
            reporter: Reporter::new(reports),
            totals,
        }
    }

    /// Id of the instance.
    #[must_use]
    pub fn id(&self) -> &InstanceId {
        &self.identity.id
    }

    /// Where the instance listens.
    #[must_use]
    pub fn address(&self) -> &Address {
        &self.identity.address
    }

    /// The [address](Self::address) as the authority of a URI, made at the first call.
    ///
    /// # Errors
    /// [`InvalidUri`] if a URI cannot hold it. No [`Address`] of which that is so is known.
    pub fn authority(&self) -> Result<&Authority, &InvalidUri> {
        let authority = self
            .authority
            .get_or_init(|| Authority::try_from(self.address().to_string()));
        authority.as_ref()
    }

    /// Plain text or TLS.
    #[must_use]
    pub fn scheme(&self) -> Scheme {
        self.identity.scheme
    }

    /// Attempts that are running now.
    #[must_use]
    pub fn in_flight(&self) -> u64 {
        self.attempts.running()
    }

    /// Attempts that were begun since the instance came.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.attempts.begun()
    }

    /// Those of them that failed.
    #[must_use]
    pub fn failures(&self) -> u64 {
        self.failures.load(Ordering::Relaxed)
    }

    /// Attempts of the last while, older ones less.
    pub(crate) fn recent_load(&self) -> f64 {
        self.recent.get()
    }

    /// `left` is what is left of the recent attempts since the last time. Only the balancer's task calls it.
    pub(crate) fn fold_load(&self, left: f64) {
        self.recent.fold(self.requests(), left);
    }

    /// Whether outlier detection keeps the instance out now.
    #[must_use]
    pub fn is_ejected(&self) -> bool {
        self.era().is_ejected()
    }

    /// Why outlier detection keeps it out and until when, if it does.
    pub(crate) fn term(&self) -> Option<EjectionTerm> {
        *self.term.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Only the balancer's task calls it.
    pub(crate) fn set_term(&self, term: Option<EjectionTerm>) {
        *self.term.lock().unwrap_or_else(PoisonError::into_inner) = term;
    }

    /// Why the instance gets no requests, if it gets none.
    pub(crate) fn absence(&self) -> Option<Absence> {
        if self.is_ejected() {
            return Some(Absence::Ejected);
        }
        self.withheld.first()
    }

    /// Withholds requests for this reason, or no longer. Returns whether that was a change. Only the balancer's task calls it.
    pub(crate) fn withhold(&self, why: Absence, withhold: bool) -> bool {
        self.withheld.set(why, withhold)
    }

    /// Whether the instance is in the snapshot. Only the balancer's task calls it, and a shutdown after that.
    pub(crate) fn set_present(&self, present: bool) {
        self.stay.send_if_modified(|stay| {
            let is_change = (*stay == Stay::Listed) != present;
            if is_change {
                *stay = if present {
                    Stay::Listed
                } else {
                    Stay::Left(TokioInstant::now())
                };
            }
            is_change
        });
    }

    /// Whether the instance is in the snapshot.
    pub(crate) fn is_present(&self) -> bool {
        *self.stay.borrow() == Stay::Listed
    }

    /// What runs on it is to end.
    pub(crate) fn cut(&self) {
        self.stay.send_replace(Stay::Over(TokioInstant::now()));
    }

    /// Whether requests are withheld for any reason but an ejection.
    pub(crate) fn is_withheld_at_all(&self) -> bool {
        self.withheld.first().is_some()
    }

    /// Whether requests are withheld for this reason.
    pub(crate) fn is_withheld(&self, why: Absence) -> bool {
        self.withheld.has(why)
    }

    /// What a layer keeps with this node, made by `init` at the first call for the key. It is
    /// let go with the node, so connections that are kept here close when the instance is gone
    /// and its last attempt is over; and with the last clone of the key.
    ///
    /// Concurrent first calls wait for one `init`, which must not ask for the same key. The value
    /// must not hold the key: the two would keep each other until the node goes.
    pub fn attachment<T, F>(&self, key: &AttachmentKey<T>, init: F) -> Arc<T>
    where
        T: Send + Sync + 'static,
        F: FnOnce() -> T,
    {
        self.attachments.get_or_init(key, init)
    }

    /// What `read` makes of what a layer keeps with this node; `None` where it is not made yet. It is less work than to get a handle
    /// of it.
    pub fn read_attachment<T, R>(
        &self,
        key: &AttachmentKey<T>,
        read: impl FnOnce(&T) -> R,
    ) -> Option<R>
    where
        T: Send + Sync + 'static,
    {
        self.attachments.read(key, read)
    }

    /// What a layer keeps with this node, where it is made already.
    #[must_use]
    pub fn attached<T: Send + Sync + 'static>(&self, key: &AttachmentKey<T>) -> Option<Arc<T>> {
        self.attachments.get(key)
    }

    fn era(&self) -> Era {
        Era(self.era.load(Ordering::Acquire))
    }

    /// Whether it came back from an ejection and has to prove itself.
    pub(crate) fn is_on_trial(&self) -> bool {
        self.trial.is_on()
    }

    /// A slot for an attempt on trial; `None` if all are taken.
    pub(crate) fn take_slot(&self) -> Option<TrialSlot> {
        self.trial.take()
    }

    pub(crate) fn give_back(&self, slot: TrialSlot) {
        self.trial.give_back(slot);
    }

    /// Whether it may have one more attempt: not while it is on trial and its slots are taken.
    pub(crate) fn has_room(&self) -> bool {
        self.trial.has_room()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.totals.trial(self.trial.is_on(), false);
        self.totals.died();
    }
}

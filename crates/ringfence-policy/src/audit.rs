//! What is recorded of the use of gray and tenant tags.

use std::{
    collections::VecDeque,
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use serde::Serialize;

/// A request used a gray or tenant tag, or tried to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct AuditEvent {
    /// On whose account: the token's, else the verified claim `sub`, else the peer's address; empty where nothing is known.
    pub who: String,
    /// The tag, such as `gray=checkout-v2` or `tenant=acme`.
    pub tag: String,
    /// The service that was called.
    pub service: String,
    /// The rule.
    pub rule: String,
    /// Whether the tag was heeded.
    pub decision: AuditDecision,
    /// Why.
    pub reason: AuditReason,
}

/// Whether a tag was heeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AuditDecision {
    /// It was.
    Accepted,
    /// It was not.
    Refused,
}

/// Why a tag was heeded or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum AuditReason {
    /// The policy's authority made it.
    Authority,
    /// The program set it as a request extension.
    Program,
    /// It came in a header that the rule trusts.
    TrustedHeader,
    /// The tenant is on the release's list.
    TenantListed,
    /// It came in a header that the rule does not trust.
    UntrustedHeader,
    /// It came in a header that the rule trusts, but that is there several times with different values.
    ContradictoryHeader,
    /// An authority made it that is not the policy's.
    ForeignAuthority,
    /// The rule takes no part in this release.
    NotInRule,
    /// The release is stopped.
    Stopped,
}

impl AuditReason {
    /// Whether a tag is heeded for this reason.
    #[must_use]
    pub fn decision(self) -> AuditDecision {
        match self {
            Self::Authority | Self::Program | Self::TrustedHeader | Self::TenantListed => {
                AuditDecision::Accepted
            }
            Self::UntrustedHeader
            | Self::ContradictoryHeader
            | Self::ForeignAuthority
            | Self::NotInRule
            | Self::Stopped => AuditDecision::Refused,
        }
    }

    /// As in serialised events.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Authority => "authority",
            Self::Program => "program",
            Self::TrustedHeader => "trusted_header",
            Self::TenantListed => "tenant_listed",
            Self::UntrustedHeader => "untrusted_header",
            Self::ContradictoryHeader => "contradictory_header",
            Self::ForeignAuthority => "foreign_authority",
            Self::NotInRule => "not_in_rule",
            Self::Stopped => "stopped",
        }
    }
}

impl fmt::Display for AuditEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decision = match self.decision {
            AuditDecision::Accepted => "accepted",
            AuditDecision::Refused => "refused",
        };
        write!(
            f,
            "{} {decision} ({}) of {:?} at {}, rule {}",
            self.tag,
            self.reason.as_str(),
            self.who,
            self.service,
            self.rule
        )
    }
}

/// Where audit events go. A balancer calls it in a task of its own, one event after the other; while it takes long, further
/// events wait, and are lost when too many do. One that panics is not called again, and all further events are lost.
///
/// What waits for a disk or a network belongs behind a channel: the task runs among those of the program.
pub trait AuditSink: Send + Sync {
    /// Takes an event.
    fn record(&self, event: AuditEvent);
}

impl<S: AuditSink + ?Sized> AuditSink for Arc<S> {
    fn record(&self, event: AuditEvent) {
        (**self).record(event);
    }
}

/// Keeps audit events until somebody takes them; when it is full, new ones are lost and counted. Shared by an [`Arc`] it is a
/// sink of which the program keeps a handle.
///
/// ```
/// use std::sync::Arc;
/// use ringfence_policy::{AuditQueue, AuditSink};
///
/// let queue = Arc::new(AuditQueue::new(1_000));
/// let sink: Box<dyn AuditSink> = Box::new(Arc::clone(&queue));
/// # let _ = sink;
/// assert_eq!((queue.take().len(), queue.lost()), (0, 0));
/// ```
#[derive(Debug)]
pub struct AuditQueue {
    events: Mutex<VecDeque<AuditEvent>>,
    capacity: usize,
    lost: AtomicU64,
}

impl AuditQueue {
    /// Keeps at most so many events; 0 keeps none and counts all as lost.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self {
            events: Mutex::default(),
            capacity,
            lost: AtomicU64::new(0),
        }
    }

    /// Takes all events out, the oldest first.
    pub fn take(&self) -> VecDeque<AuditEvent> {
        std::mem::take(&mut self.events.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// How many events were lost because it was full.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }
}

impl AuditSink for AuditQueue {
    fn record(&self, event: AuditEvent) {
        let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        if events.len() < self.capacity {
            events.push_back(event);
        } else {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(who: &str) -> AuditEvent {
        AuditEvent {
            who: who.to_owned(),
            tag: "gray=r".to_owned(),
            service: "shop".to_owned(),
            rule: "all".to_owned(),
            decision: AuditDecision::Refused,
            reason: AuditReason::Stopped,
        }
    }

    #[test]
    fn a_full_queue_loses_new_events_and_counts_them() {
        let queue = AuditQueue::new(2);
        for who in ["a", "b", "c", "d"] {
            queue.record(event(who));
        }
        assert_eq!(queue.take(), [event("a"), event("b")]);
        assert_eq!(queue.lost(), 2);
        queue.record(event("e"));
        assert_eq!(queue.take(), [event("e")]);
    }

    #[test]
    fn events_are_readable() {
        assert_eq!(
            event("a").to_string(),
            "gray=r refused (stopped) of \"a\" at shop, rule all"
        );
        assert_eq!(
            serde_json::to_value(event("a")).unwrap()["reason"],
            "stopped"
        );
    }
}

//! The way of a key around the ring, with everyone it passes: for explanations, not for requests.

use std::fmt;

use super::{PoolView, View};
use crate::{instance::Instance, ring::HashedKey};

/// An instance on the way of a key around the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WalkStep {
    /// Its place in [`Snapshot::instances`](crate::Snapshot::instances).
    pub place: usize,
    /// Whether it may serve the key, or why not.
    pub verdict: StepVerdict,
}

/// Whether an instance may serve a key, or why not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StepVerdict {
    /// It may.
    Candidate,
    /// It may, but there are enough before it.
    BeyondAttempts,
    /// It is not in the pool.
    NotAMember,
    /// It is switched off.
    Disabled,
    /// Its weight is 0.
    Drained,
    /// The registry says that it is not healthy.
    Unhealthy,
    /// It kept failing and is out for a time.
    Ejected,
    /// It does not pass the active health checks.
    FailsChecks,
    /// It is new, and has not passed an active health check yet.
    Unchecked,
    /// It came and went too often, or has not been back for long enough.
    Damped,
    /// It is new, and its connections are not made yet.
    Warming,
}

impl StepVerdict {
    /// A word or two for it, such as `not a member`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Candidate => "candidate",
            Self::BeyondAttempts => "over max_attempts",
            Self::NotAMember => "not a member",
            Self::Disabled => "disabled",
            Self::Drained => "drained",
            Self::Unhealthy => "unhealthy",
            Self::Ejected => "ejected",
            Self::FailsChecks => "fails health checks",
            Self::Unchecked => "not checked yet",
            Self::Damped => "damped",
            Self::Warming => "warming up",
        }
    }
}

impl fmt::Display for StepVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl View {
    /// Everyone whom a key passes on its way around the ring of a pool of this view, each once, clockwise: the first `attempts`
    /// candidates are those of [`PoolView::walk`]. Behind them come the pool's members that are not on the ring.
    ///
    /// On a ring of its own a pool's key meets nobody but members, and so it does with [algorithms](crate::HashAlgorithm) that map some
    /// instances otherwise than all.
    ///
    /// An instance that is back from an ejection and has to prove itself is a candidate here. That it has as many attempts as
    /// it may for now, and is passed by, is no matter of a view.
    pub fn steps<'a>(
        &'a self,
        pool: &'a PoolView,
        key: impl Into<HashedKey<'a>>,
        attempts: usize,
    ) -> impl Iterator<Item = WalkStep> + 'a {
        let members = pool.pool().members();
        // Where some instances are mapped as all of them are, whoever is not in the pool is shown too.
        let is_filterable = self.config.ring().algorithm().is_filterable();
        let is_apart = !is_filterable || pool.pool().spec().ring_seed().is_some();
        let own = pool.ring().filter(|_| is_apart);
        let ring = own.unwrap_or(&self.whole);
        let on_ring = ring.walk(key).filter_map(move |member| match own {
            Some(_) => members.get(member as usize).copied(),
            None => Some(member),
        });
        let off_ring = members.iter().copied().filter(|&place| {
            let instance = self.snapshot.instances().get(place as usize);
            instance.is_some_and(|instance| !instance.takes_traffic())
        });
        let mut left = attempts;
        on_ring.chain(off_ring).map(move |place| {
            let verdict = match self.verdict(pool, place) {
                StepVerdict::Candidate if left == 0 => StepVerdict::BeyondAttempts,
                verdict => verdict,
            };
            left -= usize::from(verdict == StepVerdict::Candidate);
            WalkStep {
                place: place as usize,
                verdict,
            }
        })
    }

    fn verdict(&self, pool: &PoolView, place: u32) -> StepVerdict {
        let instance = self.snapshot.instances().get(place as usize);
        let member = pool.pool().members().binary_search(&place).ok();
        let member = member.and_then(|member| u32::try_from(member).ok());
        let (Some(instance), Some(member)) = (instance, member) else {
            return StepVerdict::NotAMember;
        };
        let absence = self.out.get(place as usize).copied().flatten();
        match why_not(instance) {
            Some(StepVerdict::Unhealthy) if pool.is_panic() => match absence {
                Some(absence) if !pool.is_open(member) => absence.into(),
                _ => StepVerdict::Candidate,
            },
            Some(verdict) => verdict,
            None => match absence {
                Some(absence) if !pool.is_open(member) => absence.into(),
                _ => StepVerdict::Candidate,
            },
        }
    }
}

/// What the registry's own word is.
fn why_not(instance: &Instance) -> Option<StepVerdict> {
    if !instance.is_enabled() {
        Some(StepVerdict::Disabled)
    } else if !instance.takes_traffic() {
        Some(StepVerdict::Drained)
    } else {
        (!instance.is_healthy()).then_some(StepVerdict::Unhealthy)
    }
}

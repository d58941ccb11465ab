//! Reasons beside an ejection for which an instance gets no requests.

use std::sync::atomic::{AtomicU8, Ordering};

use ringfence_core::Absence;

/// A reason that the balancer's task sets and takes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Withheld {
    /// It does not pass the active health checks.
    FailsChecks = 1,
    /// Flap damping keeps it out.
    Damped = 2,
    /// Its connections are not made yet.
    Warming = 4,
}

impl From<Withheld> for Absence {
    fn from(why: Withheld) -> Self {
        match why {
            Withheld::FailsChecks => Self::FailsChecks,
            Withheld::Damped => Self::Damped,
            Withheld::Warming => Self::Warming,
        }
    }
}

/// Those that hold for a node. Each has its own end, so they are a set.
#[derive(Debug, Default)]
pub(super) struct Withholdings(AtomicU8);

impl Withholdings {
    /// Returns whether that was a change.
    pub(super) fn set(&self, why: Withheld, on: bool) -> bool {
        let bit = why as u8;
        let before = if on {
            self.0.fetch_or(bit, Ordering::AcqRel)
        } else {
            self.0.fetch_and(!bit, Ordering::AcqRel)
        };
        (before & bit != 0) != on
    }

    pub(super) fn has(&self, why: Withheld) -> bool {
        self.0.load(Ordering::Acquire) & why as u8 != 0
    }

    pub(super) fn first(&self) -> Option<Withheld> {
        let bits = self.0.load(Ordering::Acquire);
        [Withheld::FailsChecks, Withheld::Damped, Withheld::Warming]
            .into_iter()
            .find(|why| bits & *why as u8 != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_has_its_own_end() {
        let withheld = Withholdings::default();
        assert_eq!(withheld.first(), None);
        assert!(withheld.set(Withheld::Warming, true));
        assert!(!withheld.set(Withheld::Warming, true));
        assert!(withheld.set(Withheld::FailsChecks, true));
        assert_eq!(withheld.first(), Some(Withheld::FailsChecks));
        assert!(withheld.has(Withheld::Warming) && !withheld.has(Withheld::Damped));
        assert!(withheld.set(Withheld::FailsChecks, false));
        assert_eq!(withheld.first(), Some(Withheld::Warming));
        assert!(!withheld.set(Withheld::Damped, false));
        assert!(withheld.set(Withheld::Warming, false));
        assert_eq!(withheld.first(), None);
    }
}

//! Reasons beside an ejection for which an instance gets no requests.

use std::sync::atomic::{AtomicU8, Ordering};

use ringfence_core::Absence;

fn bit(why: Absence) -> u8 {
    match why {
        Absence::FailsChecks => 1,
        Absence::Damped => 2,
        Absence::Warming => 4,
        Absence::Unchecked => 8,
        // An ejection has its own record.
        _ => 0,
    }
}

/// Those that hold for a node. Each has its own end, so they are a set.
#[derive(Debug, Default)]
pub(super) struct Withholdings(AtomicU8);

impl Withholdings {
    /// Returns whether that was a change.
    pub(super) fn set(&self, why: Absence, on: bool) -> bool {
        let bit = bit(why);
        let before = if on {
            self.0.fetch_or(bit, Ordering::AcqRel)
        } else {
            self.0.fetch_and(!bit, Ordering::AcqRel)
        };
        (before & bit != 0) != on
    }

    pub(super) fn has(&self, why: Absence) -> bool {
        self.0.load(Ordering::Acquire) & bit(why) != 0
    }

    pub(super) fn first(&self) -> Option<Absence> {
        let bits = self.0.load(Ordering::Acquire);
        [
            Absence::FailsChecks,
            Absence::Unchecked,
            Absence::Damped,
            Absence::Warming,
        ]
        .into_iter()
        .find(|why| bits & bit(*why) != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_has_its_own_end() {
        let withheld = Withholdings::default();
        assert_eq!(withheld.first(), None);
        assert!(withheld.set(Absence::Warming, true));
        assert!(!withheld.set(Absence::Warming, true));
        assert!(withheld.set(Absence::FailsChecks, true));
        assert_eq!(withheld.first(), Some(Absence::FailsChecks));
        assert!(withheld.has(Absence::Warming) && !withheld.has(Absence::Damped));
        assert!(withheld.set(Absence::FailsChecks, false));
        assert_eq!(withheld.first(), Some(Absence::Warming));
        assert!(!withheld.set(Absence::Damped, false));
        assert!(withheld.set(Absence::Warming, false));
        assert_eq!(withheld.first(), None);
    }
}

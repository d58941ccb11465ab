use std::fmt;

use ringfence_core::{Absence, Instance};

/// What an instance is good for: each one is in exactly one of these states. Of several that would fit, it is in the first one here.
///
/// # Examples
/// ```
/// use ringfence_balancer::InstanceState;
///
/// let (drained, usable) = (InstanceState::Drained, InstanceState::Usable);
/// assert!(drained < usable, "stronger reasons come first");
/// assert_eq!((drained.as_str(), InstanceState::ALL.last()), ("drained", Some(&usable)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum InstanceState {
    /// It is switched off in the registry.
    Disabled,
    /// It has the weight 0, so it owns no keys.
    Drained,
    /// The registry says that it is not healthy.
    Unhealthy,
    /// It kept failing, and is out for a time.
    Ejected,
    /// It does not pass its health checks.
    FailsChecks,
    /// It is new, and has not passed a health check yet.
    Unchecked,
    /// It came and went too often.
    Damped,
    /// It is new, and its connections are being made.
    Warming,
    /// It is kept out for a reason that has no name here.
    Absent,
    /// It takes requests.
    Usable,
}

impl InstanceState {
    /// All of them, the strongest reason first.
    pub const ALL: [Self; 10] = [
        Self::Disabled,
        Self::Drained,
        Self::Unhealthy,
        Self::Ejected,
        Self::FailsChecks,
        Self::Unchecked,
        Self::Damped,
        Self::Warming,
        Self::Absent,
        Self::Usable,
    ];

    pub(super) fn of(instance: &Instance, absence: Option<Absence>) -> Self {
        if !instance.is_enabled() {
            return Self::Disabled;
        }
        if instance.weight().get() == 0 {
            return Self::Drained;
        }
        if !instance.is_healthy() {
            return Self::Unhealthy;
        }
        match absence {
            Some(Absence::Ejected) => Self::Ejected,
            Some(Absence::FailsChecks) => Self::FailsChecks,
            Some(Absence::Unchecked) => Self::Unchecked,
            Some(Absence::Damped) => Self::Damped,
            Some(Absence::Warming) => Self::Warming,
            Some(_) => Self::Absent,
            None => Self::Usable,
        }
    }

    /// As a label of metrics and in documents.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Disabled => "disabled",
            Self::Drained => "drained",
            Self::Unhealthy => "unhealthy",
            Self::Ejected => "ejected",
            Self::FailsChecks => "fails_checks",
            Self::Unchecked => "unchecked",
            Self::Damped => "damped",
            Self::Warming => "warming",
            Self::Absent => "absent",
            Self::Usable => "usable",
        }
    }

    /// What it means, in a few words for people.
    #[must_use]
    pub fn told(self) -> &'static str {
        match self {
            Self::Disabled => "switched off in the registry",
            Self::Drained => "has the weight 0, so it owns no keys",
            Self::Unhealthy => "the registry says that it is not healthy",
            Self::Ejected => "kept failing, and is out for a time",
            Self::FailsChecks => "does not pass its health checks",
            Self::Unchecked => "is new, and has not passed a health check yet",
            Self::Damped => "came and went too often",
            Self::Warming => "is new, and its connections are being made",
            Self::Absent => "is kept out for a reason that has no name here",
            Self::Usable => "takes requests",
        }
    }
}

impl fmt::Display for InstanceState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_state_has_words_of_its_own() {
        let told: std::collections::BTreeSet<_> =
            InstanceState::ALL.map(InstanceState::told).into();
        assert_eq!(told.len(), InstanceState::ALL.len());
    }

    #[test]
    fn the_strongest_reason_counts() {
        let instance = || Instance::builder("a", "10.0.0.1:80");
        let state = |builder: ringfence_core::InstanceBuilder, absence| {
            InstanceState::of(&builder.build().expect("legal"), absence)
        };
        let ejected = Some(Absence::Ejected);
        assert_eq!(state(instance(), None), InstanceState::Usable);
        assert_eq!(state(instance(), ejected), InstanceState::Ejected);
        let sick = || instance().healthy(false);
        assert_eq!(state(sick(), ejected), InstanceState::Unhealthy);
        assert_eq!(state(sick().weight(0), ejected), InstanceState::Drained);
        let off = sick().weight(0).enabled(false);
        assert_eq!(state(off, ejected), InstanceState::Disabled);
        assert!(InstanceState::ALL.is_sorted());
    }
}

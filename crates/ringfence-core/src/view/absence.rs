use super::StepVerdict;

/// Why an instance that the registry offers gets no requests for now.
///
/// It is no reason where a pool is in panic: then these are ignored, as the registry's word on health is.
/// [Newcomers](Self::is_newcomer) are as if they were not there yet, in panic too, unless the pool has nobody else; then they
/// serve like any other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Absence {
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

impl Absence {
    /// Whether the instance is only not in use yet. It counts for nothing then, in panic neither, unless the pool has nobody else: a
    /// service that grows fast would be in panic, and its new instances would get the requests that they are to be spared.
    #[must_use]
    pub fn is_newcomer(self) -> bool {
        matches!(self, Self::Unchecked | Self::Warming)
    }
}

impl From<Absence> for StepVerdict {
    fn from(absence: Absence) -> Self {
        match absence {
            Absence::Ejected => Self::Ejected,
            Absence::FailsChecks => Self::FailsChecks,
            Absence::Unchecked => Self::Unchecked,
            Absence::Damped => Self::Damped,
            Absence::Warming => Self::Warming,
        }
    }
}

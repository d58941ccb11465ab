use super::StepVerdict;

/// Why an instance that the registry offers gets no requests for now.
///
/// It is no reason where a pool is in panic: then these are ignored, as the registry's word on health is. One that is
/// [warming up](Self::Warming) is as if it were not there yet, in panic too, unless the pool has nobody else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Absence {
    /// It kept failing and is out for a time.
    Ejected,
    /// It does not pass the active health checks.
    FailsChecks,
    /// It came and went too often, or has not been back for long enough.
    Damped,
    /// It is new, and its connections are not made yet.
    Warming,
}

impl From<Absence> for StepVerdict {
    fn from(absence: Absence) -> Self {
        match absence {
            Absence::Ejected => Self::Ejected,
            Absence::FailsChecks => Self::FailsChecks,
            Absence::Damped => Self::Damped,
            Absence::Warming => Self::Warming,
        }
    }
}

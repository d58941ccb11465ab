use std::fmt;

/// How a call ended, with all of its attempts.
///
/// # Examples
/// ```
/// use ringfence_balancer::CallOutcome;
///
/// assert_eq!(CallOutcome::DeadlineExceeded.as_str(), "deadline_exceeded");
/// assert!(CallOutcome::Success.is_success() && !CallOutcome::Cancelled.is_success());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CallOutcome {
    /// It was answered, and the answer is no failure of the service: a refusal that is the caller's fault is among these.
    Success,
    /// It was answered with a failure.
    FailedResponse,
    /// The answer began and broke off.
    Broken,
    /// The caller went away before the answer was complete.
    Cancelled,
    /// The registry had not answered in time.
    NotReady,
    /// No pool for the request had a usable instance.
    NoInstances,
    /// The registry does not know the service.
    NoSuchService,
    /// It had no key, and only calls with one are taken.
    KeyRequired,
    /// A limit of concurrency was reached.
    Overloaded,
    /// Each attempt that was allowed failed in a way that permits another one.
    AttemptsExhausted,
    /// A further attempt was permitted, but the retry budget is used up.
    BudgetExhausted,
    /// Its deadline passed.
    DeadlineExceeded,
    /// An attempt failed in a way that permits no other one.
    Transport,
    /// It could not be sent to any instance.
    BadRequest,
    /// The transport is set up in a way that cannot work.
    Config,
    /// The balancer was shut down.
    ShutDown,
}

impl CallOutcome {
    /// All of them, in the order of [`index`](Self::index).
    pub const ALL: [Self; 16] = [
        Self::Success,
        Self::FailedResponse,
        Self::Broken,
        Self::Cancelled,
        Self::NotReady,
        Self::NoInstances,
        Self::NoSuchService,
        Self::KeyRequired,
        Self::Overloaded,
        Self::AttemptsExhausted,
        Self::BudgetExhausted,
        Self::DeadlineExceeded,
        Self::Transport,
        Self::BadRequest,
        Self::Config,
        Self::ShutDown,
    ];

    /// Its place in [`ALL`](Self::ALL), for arrays of counters.
    #[must_use]
    pub fn index(self) -> usize {
        self as usize
    }

    /// As a label of metrics and a value of traces.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::FailedResponse => "failed_response",
            Self::Broken => "broken",
            Self::Cancelled => "cancelled",
            Self::NotReady => "not_ready",
            Self::NoInstances => "no_instances",
            Self::NoSuchService => "no_such_service",
            Self::KeyRequired => "key_required",
            Self::Overloaded => "overloaded",
            Self::AttemptsExhausted => "attempts_exhausted",
            Self::BudgetExhausted => "budget_exhausted",
            Self::DeadlineExceeded => "deadline_exceeded",
            Self::Transport => "transport",
            Self::BadRequest => "bad_request",
            Self::Config => "config",
            Self::ShutDown => "shut_down",
        }
    }

    /// Whether it is [`Success`](Self::Success).
    #[must_use]
    pub fn is_success(self) -> bool {
        self == Self::Success
    }
}

impl fmt::Display for CallOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_its_place_and_a_name_of_its_own() {
        for (place, outcome) in CallOutcome::ALL.into_iter().enumerate() {
            assert_eq!(outcome.index(), place);
            let alike = CallOutcome::ALL
                .iter()
                .filter(|other| other.as_str() == outcome.as_str());
            assert_eq!(alike.count(), 1, "{outcome}");
        }
    }
}

/// How an attempt ended, as far as the instance is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Outcome {
    /// The instance answered as it should.
    Success,
    /// The instance is to blame.
    Failure(FailureKind),
    /// Says nothing about the instance: the caller gave up, or the attempt was refused locally.
    Neutral,
}

/// What an instance did wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FailureKind {
    /// No connection could be made.
    Connect,
    /// No answer in time.
    Timeout,
    /// The connection broke during the attempt.
    Reset,
    /// The answer's status says that the server failed.
    Status,
}

impl FailureKind {
    /// Whether it says nothing of a server but that it cannot be reached.
    pub(crate) fn is_unreachable(self) -> bool {
        matches!(self, Self::Connect | Self::Reset)
    }
}

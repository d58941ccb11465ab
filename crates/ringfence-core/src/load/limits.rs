use super::HashBalanceFactor;

/// What a member of a pool may carry, at one moment.
///
/// # Examples
/// ```
/// use ringfence_core::{HashBalanceFactor, LoadLimits};
///
/// let limits = LoadLimits::default()
///     .with_balance_factor(Some(HashBalanceFactor::new(125)?))
///     .with_most(100);
/// assert!(limits.is_any() && !LoadLimits::default().is_any());
/// # Ok::<(), ringfence_core::ConfigError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct LoadLimits {
    balance_factor: Option<HashBalanceFactor>,
    most: u64,
}

impl LoadLimits {
    /// How much more than its share a member may carry; default `None`, any load.
    #[must_use]
    pub fn with_balance_factor(mut self, factor: Option<HashBalanceFactor>) -> Self {
        self.balance_factor = factor;
        self
    }

    /// The most requests that a member may have in flight; default 0, any number.
    #[must_use]
    pub fn with_most(mut self, most: u64) -> Self {
        self.most = most;
        self
    }

    /// How much more than its share a member may carry.
    #[must_use]
    pub fn balance_factor(&self) -> Option<HashBalanceFactor> {
        self.balance_factor
    }

    /// The most requests that a member may have in flight; 0: any number.
    #[must_use]
    pub fn most(&self) -> u64 {
        self.most
    }

    /// Whether loads matter at all.
    #[must_use]
    pub fn is_any(&self) -> bool {
        self.balance_factor.is_some() || self.most > 0
    }

    /// Whether a member with this load is below [`most`](Self::most).
    #[inline]
    #[must_use]
    pub fn is_below_most(&self, load: u64) -> bool {
        self.most == 0 || load < self.most
    }
}

/// Who takes a request under [`LoadLimits`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Taker {
    /// The owner of its key.
    Owner,
    /// This member, as the first clockwise that has room.
    Other(u32),
    /// Every member has as many requests in flight as it may.
    Nobody,
}

use crate::ConfigError;

/// How much more than its share a member of a pool may carry: consistent hashing with bounded loads.
///
/// A request goes to the first member clockwise from its key that stays within its bound with it. So a key that is asked for
/// far more often than others is served by as many members as it needs, always the same ones in the same order, and everyone
/// else's keys stay where they are. The same loads give the same choice.
///
/// The bound of a member is `ceil(factor * (total + 1) * weight / weights)`, in whole requests, where `total` is what is in
/// flight on all members together and `weights` the sum of their weights. With a factor above 1 there is always one below its
/// bound.
///
/// Mirrokni, Thorup and Zadimoghaddam, "Consistent Hashing with Bounded Loads", 2016 (arXiv:1608.01350). The name and the unit
/// are those of Envoy's `hash_balance_factor`.
///
/// # Examples
/// ```
/// use ringfence_core::HashBalanceFactor;
///
/// let factor = HashBalanceFactor::new(125)?;
/// // Of four equal members with 39 requests in flight, each may have ceil(1.25 * 40 / 4).
/// assert_eq!(factor.bound(39, 100, 400), 13);
/// assert!(factor.has_room(12, 39, 100, 400) && !factor.has_room(13, 39, 100, 400));
/// # Ok::<(), ringfence_core::ConfigError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HashBalanceFactor(u32);

impl HashBalanceFactor {
    /// A factor in per cent: 101..=100,000; 125 is usual. The nearer to 100, the more even the loads and the more keys leave
    /// their owners.
    ///
    /// # Errors
    /// [`ConfigError`] out of the range.
    pub fn new(percent: u32) -> Result<Self, ConfigError> {
        let percent = ConfigError::check("hash_balance_factor", percent, 101..=100_000)?;
        Ok(Self(percent))
    }

    /// The factor in per cent.
    #[must_use]
    pub fn percent(self) -> u32 {
        self.0
    }

    /// The most requests that a member with this weight may have in flight, the one to come included; at least 1 for a weight
    /// above 0. `total` is what is in flight on all members of the pool, and `weights` the sum of their weights.
    #[must_use]
    pub fn bound(self, total: u64, weight: u32, weights: u64) -> u64 {
        // 17 and 65 and 32 bits.
        let share = u128::from(self.0) * (u128::from(total) + 1) * u128::from(weight);
        let bound = share.div_ceil(u128::from(weights.max(1)) * 100);
        u64::try_from(bound).unwrap_or(u64::MAX)
    }

    /// Whether a member with `in_flight` requests may take one more.
    #[must_use]
    pub fn has_room(self, in_flight: u64, total: u64, weight: u32, weights: u64) -> bool {
        in_flight < self.bound(total, weight, weights)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn factor(percent: u32) -> HashBalanceFactor {
        HashBalanceFactor::new(percent).expect("legal")
    }

    #[test]
    fn a_factor_that_bounds_nothing_or_too_much_is_refused() {
        for percent in [0, 1, 100, 100_001, u32::MAX] {
            let error = HashBalanceFactor::new(percent).expect_err("out of range");
            assert_eq!(error.field(), "hash_balance_factor");
        }
        assert_eq!(factor(101).percent(), 101);
    }

    #[test]
    fn bounds_are_rounded_up_and_go_by_weight() {
        assert_eq!(factor(125).bound(0, 100, 1_000), 1);
        assert_eq!(factor(125).bound(79, 100, 1_000), 10);
        assert_eq!(factor(125).bound(80, 100, 1_000), 11);
        assert_eq!(factor(200).bound(99, 300, 400), 150);
        assert_eq!(factor(200).bound(99, 0, 400), 0);
    }

    #[test]
    fn no_number_overflows() {
        let most = factor(100_000);
        assert_eq!(most.bound(u64::MAX, u32::MAX, 1), u64::MAX);
        assert_eq!(most.bound(u64::MAX, 1, u64::MAX), 1_001);
        assert_eq!(most.bound(0, 1, 0), 1_000);
    }
}

//! The retry budget: how many hops a service allows in relation to its requests.

use std::time::{Duration, Instant};

use crate::ConfigError;

/// Requests and hops are weighed against each other over this time.
const WINDOW: Duration = Duration::from_secs(10);
/// Tokens are counted in millionths so that the arithmetic is exact.
const TOKEN: u64 = 1_000_000;

/// How many hops (attempts after the first one) a service allows.
///
/// In any ten seconds at most [`percent`](Self::percent) of the requests of these seconds may hop,
/// plus a floor of [`min_per_second`](Self::min_per_second), so that a service with little
/// traffic can still fail over. All requests of a balancer share one budget, so a dying service
/// sees at most that much extra load.
///
/// ```
/// use ringfence_core::RetryBudgetConfig;
///
/// let config = RetryBudgetConfig::default().with_percent(50)?.with_min_per_second(0);
/// assert_eq!(config.percent(), 50);
/// # Ok::<(), ringfence_core::ConfigError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RetryBudgetConfig {
    percent: u32,
    min_per_second: u32,
}

impl Default for RetryBudgetConfig {
    fn default() -> Self {
        Self {
            percent: 20,
            min_per_second: 3,
        }
    }
}

impl RetryBudgetConfig {
    /// Hops allowed for each hundred requests; default 20, range 0..=1,000. Zero leaves the floor only.
    ///
    /// # Errors
    /// [`ConfigError`] above 1,000.
    pub fn with_percent(mut self, percent: u32) -> Result<Self, ConfigError> {
        self.percent = ConfigError::check("retry_budget.percent", percent, 0..=1_000)?;
        Ok(self)
    }

    /// Hops allowed in each second whatever the traffic is; default 3, any number. Zero switches the floor off.
    #[must_use]
    pub fn with_min_per_second(mut self, hops: u32) -> Self {
        self.min_per_second = hops;
        self
    }

    /// Hops allowed for each hundred requests.
    #[must_use]
    pub fn percent(&self) -> u32 {
        self.percent
    }

    /// Hops allowed in each second whatever the traffic is.
    #[must_use]
    pub fn min_per_second(&self) -> u32 {
        self.min_per_second
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Half {
    requests: u64,
    hops: u64,
}

/// The arithmetic of a [`RetryBudgetConfig`]; knows no clock.
///
/// # Examples
/// ```
/// use std::time::Instant;
/// use ringfence_core::{RetryBudgetConfig, RetryBudget};
///
/// let now = Instant::now();
/// let mut budget = RetryBudget::new(RetryBudgetConfig::default(), now);
/// let hops = (0..100).filter(|_| budget.try_hop(10, now)).count();
/// assert_eq!(hops, 2 + 3, "a fifth of ten requests, and the floor");
/// ```
#[derive(Debug)]
pub struct RetryBudget {
    config: RetryBudgetConfig,
    /// Requests ever made, as seen by the last `fold`.
    seen: u64,
    older: Half,
    younger: Half,
    younger_since: Instant,
    /// What is left of the floor, in millionths of a hop; at most one second's worth.
    floor: u64,
    floor_at: Instant,
}

impl RetryBudget {
    /// How often [`fold`](Self::fold) must be called at least. The window is kept in two halves of this length; the older one
    /// falls out when the younger one is full.
    pub const FOLD_INTERVAL: Duration = Duration::from_secs(5);

    /// A full floor and no requests yet.
    #[must_use]
    pub fn new(config: RetryBudgetConfig, now: Instant) -> Self {
        Self {
            config,
            seen: 0,
            older: Half::default(),
            younger: Half::default(),
            younger_since: now,
            floor: u64::from(config.min_per_second) * TOKEN,
            floor_at: now,
        }
    }

    /// Takes note of the requests made so far. To be called at least each [`FOLD_INTERVAL`](Self::FOLD_INTERVAL), because
    /// requests are counted into the half in which they are noted. A number lower than one noted before changes nothing.
    pub fn fold(&mut self, requests: u64, now: Instant) {
        let age = now.saturating_duration_since(self.younger_since);
        if age >= WINDOW {
            self.older = Half::default();
            self.younger = Half::default();
            self.younger_since = now;
        } else if age >= Self::FOLD_INTERVAL {
            self.older = self.younger;
            self.younger = Half::default();
            self.younger_since = now;
        }
        // Callers that count on several threads may come in another order than they counted.
        let new = requests.saturating_sub(self.seen);
        self.younger.requests = self.younger.requests.saturating_add(new);
        self.seen = self.seen.max(requests);
        self.refill_floor(now);
    }

    fn refill_floor(&mut self, now: Instant) {
        let elapsed = now.saturating_duration_since(self.floor_at);
        let rate = u64::from(self.config.min_per_second);
        let micros = u64::try_from(elapsed.as_micros().min(1_000_000)).unwrap_or(1_000_000);
        // One hop per second is one millionth of a hop per microsecond.
        self.floor = (self.floor + rate * micros).min(rate * TOKEN);
        self.floor_at = now;
    }

    /// Takes one hop from the budget; false if there is none left.
    pub fn try_hop(&mut self, requests: u64, now: Instant) -> bool {
        self.fold(requests, now);
        let requests = self.older.requests.saturating_add(self.younger.requests);
        let hops = self.older.hops + self.younger.hops;
        let earned = u128::from(requests) * u128::from(self.config.percent);
        if u128::from(hops + 1) * 100 <= earned {
            self.younger.hops += 1;
            return true;
        }
        if self.floor >= TOKEN {
            self.floor -= TOKEN;
            return true;
        }
        false
    }
}

#[cfg(test)]
#[allow(
    clippy::disallowed_methods,
    reason = "tests need some time to start from"
)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn hops(budget: &mut RetryBudget, requests: u64, now: Instant, tries: usize) -> usize {
        (0..tries).filter(|_| budget.try_hop(requests, now)).count()
    }

    #[test]
    fn a_thousand_failing_requests_hop_at_most_203_times() {
        let now = Instant::now();
        let mut budget = RetryBudget::new(RetryBudgetConfig::default(), now);
        assert_eq!(hops(&mut budget, 1_000, now, 2_000), 203);
    }

    #[test]
    fn the_same_holds_after_an_hour_of_quiet() {
        let start = Instant::now();
        let mut budget = RetryBudget::new(RetryBudgetConfig::default(), start);
        let now = start + Duration::from_secs(3_600);
        assert_eq!(hops(&mut budget, 1_000, now, 2_000), 203);
    }

    #[test]
    fn low_traffic_lives_on_the_floor() {
        let start = Instant::now();
        let mut budget = RetryBudget::new(RetryBudgetConfig::default(), start);
        for second in 0..60 {
            let now = start + Duration::from_secs(second);
            assert!(
                hops(&mut budget, second * 2, now, 2) == 2,
                "second {second}"
            );
        }
    }

    #[test]
    fn the_floor_does_not_pile_up() {
        let start = Instant::now();
        let config = RetryBudgetConfig::default()
            .with_percent(0)
            .expect("in range");
        let mut budget = RetryBudget::new(config, start);
        assert_eq!(hops(&mut budget, 0, start, 10), 3);
        let later = start + Duration::from_secs(600);
        assert_eq!(hops(&mut budget, 0, later, 10), 3);
        assert_eq!(
            hops(&mut budget, 0, later + Duration::from_millis(400), 10),
            1
        );
    }

    #[test]
    fn requests_older_than_the_window_earn_nothing() {
        let start = Instant::now();
        let config = RetryBudgetConfig::default().with_min_per_second(0);
        let mut budget = RetryBudget::new(config, start);
        budget.fold(1_000_000, start);
        assert_eq!(hops(&mut budget, 1_000_000, start + WINDOW * 2, 10), 0);
    }

    #[test]
    fn nothing_allowed_means_nothing() {
        let now = Instant::now();
        let config = RetryBudgetConfig::default()
            .with_min_per_second(0)
            .with_percent(0)
            .expect("in range");
        let mut budget = RetryBudget::new(config, now);
        assert_eq!(hops(&mut budget, 1_000, now, 10), 0);
        assert!(RetryBudgetConfig::default().with_percent(1_001).is_err());
    }

    #[test]
    fn a_clock_that_steps_back_is_harmless() {
        let now = Instant::now() + Duration::from_secs(100);
        let mut budget = RetryBudget::new(RetryBudgetConfig::default(), now);
        assert!(budget.try_hop(0, now - Duration::from_secs(50)));
    }

    #[test]
    fn a_total_that_comes_late_changes_nothing() {
        let now = Instant::now();
        let config = RetryBudgetConfig::default().with_min_per_second(0);
        let mut budget = RetryBudget::new(config, now);
        for requests in [100, 99, 0, 100, 98] {
            budget.fold(requests, now);
            assert_eq!(budget.younger.requests, 100);
        }
        for requests in [u64::MAX, 0, u64::MAX] {
            budget.fold(requests, now);
        }
        assert!(budget.try_hop(5, now), "and nothing overflows");
    }

    proptest! {
        /// Whatever the order of requests, hops and pauses: no more than the share and the floor.
        #[test]
        fn hops_never_pass_the_share_and_the_floor(
            percent in 0..300_u32,
            floor in 0..10_u32,
            steps in prop::collection::vec((0..50_u64, 0..50_usize, 0..4_000_u64), 1..100),
        ) {
            let config = RetryBudgetConfig::default()
                .with_percent(percent)
                .expect("in range")
                .with_min_per_second(floor);
            let start = Instant::now();
            let mut budget = RetryBudget::new(config, start);
            let (mut requests, mut granted, mut now) = (0, 0, start);
            for (made, tries, pause) in steps {
                requests += made;
                now += Duration::from_millis(pause);
                granted += hops(&mut budget, requests, now, tries) as u64;
                let seconds = (now - start).as_secs() + 2;
                let allowed = requests * u64::from(percent) / 100 + seconds * u64::from(floor);
                prop_assert!(granted <= allowed, "{granted} > {allowed}");
            }
        }
    }
}

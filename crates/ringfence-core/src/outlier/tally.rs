//! Who is an outlier by the share of requests that fail. All in whole numbers, so the order of the instances and the rounding of
//! floats decide nothing.

use super::config::{FailurePercentageConfig, Sample, SuccessRateConfig};

/// Success rates are whole millionths.
const MILLION: u64 = 1_000_000;

/// How the requests of a member ended since the last sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemberTally<K> {
    /// The member.
    pub key: K,
    /// Whether the registry says that it is healthy.
    pub healthy: bool,
    /// Requests that it answered as it should.
    pub successes: u64,
    /// Requests that failed by its fault.
    pub failures: u64,
}

impl<K> MemberTally<K> {
    fn volume(&self) -> u128 {
        u128::from(self.successes) + u128::from(self.failures)
    }

    /// In millionths; 0 where there were no requests.
    fn success_rate(&self) -> u64 {
        let rate = u128::from(self.successes) * u128::from(MILLION);
        let rate = rate.checked_div(self.volume()).unwrap_or(0);
        u64::try_from(rate).unwrap_or(MILLION)
    }
}

fn with_enough<K>(sample: Sample, tallies: &[MemberTally<K>]) -> Vec<&MemberTally<K>> {
    let has_enough = |tally: &&MemberTally<K>| tally.volume() >= u128::from(sample.request_volume);
    let judged: Vec<_> = tallies.iter().filter(has_enough).collect();
    if judged.len() < sample.minimum_hosts {
        return Vec::new();
    }
    judged
}

/// Those whose success rate is below `mean - stdev_factor / 1,000 × standard deviation`.
pub(super) fn by_success_rate<'a, K>(
    config: &SuccessRateConfig,
    tallies: &'a [MemberTally<K>],
) -> Vec<&'a MemberTally<K>> {
    let mut judged = with_enough(config.sample(), tallies);
    let rates: Vec<u64> = judged.iter().map(|tally| tally.success_rate()).collect();
    let least = success_rate_threshold(&rates, config.stdev_factor());
    judged.retain(|tally| i128::from(tally.success_rate()) < least);
    judged
}

/// In millionths; below zero where nobody can be that bad.
fn success_rate_threshold(rates: &[u64], stdev_factor: u32) -> i128 {
    let count = rates.len().max(1) as u128;
    let mean = rates.iter().copied().map(u128::from).sum::<u128>() / count;
    let squares = rates
        .iter()
        .map(|&rate| u128::from(rate).abs_diff(mean).pow(2));
    let stdev = (squares.sum::<u128>() / count).isqrt();
    let allowed = stdev * u128::from(stdev_factor) / 1_000;
    mean.cast_signed() - allowed.cast_signed()
}

/// Those of whose requests the threshold or more failed.
pub(super) fn by_failure_percentage<'a, K>(
    config: &FailurePercentageConfig,
    tallies: &'a [MemberTally<K>],
) -> Vec<&'a MemberTally<K>> {
    let mut judged = with_enough(config.sample(), tallies);
    let threshold = u128::from(config.threshold());
    judged.retain(|tally| u128::from(tally.failures) * 100 >= threshold * tally.volume());
    judged
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tallies(of: &[(u64, u64)]) -> Vec<MemberTally<usize>> {
        let tally = |(key, &(successes, failures))| MemberTally {
            key,
            healthy: true,
            successes,
            failures,
        };
        of.iter().enumerate().map(tally).collect()
    }

    fn keys(found: &[&MemberTally<usize>]) -> Vec<usize> {
        found.iter().map(|tally| tally.key).collect()
    }

    #[test]
    fn the_threshold_of_success_rates_is_that_of_envoy() {
        // Envoy's own example: rates of 50 and four times 100 per cent give a mean of 90 and a threshold of 52.
        let percent = |rates: &[u64]| rates.iter().map(|rate| rate * 10_000).collect::<Vec<_>>();
        let rates = percent(&[50, 100, 100, 100, 100]);
        assert_eq!(success_rate_threshold(&rates, 1_900), 520_000);
        assert_eq!(success_rate_threshold(&rates, 0), 900_000);
        assert_eq!(success_rate_threshold(&rates, 100_000), -19_100_000);
        assert_eq!(success_rate_threshold(&[], 1_900), 0);
    }

    #[test]
    fn whoever_is_far_below_the_others_is_found_and_only_with_enough_of_all() {
        let config = SuccessRateConfig::default();
        let found = |of: &[(u64, u64)]| keys(&by_success_rate(&config, &tallies(of)));
        let well = (100, 0);
        assert_eq!(found(&[(50, 50), well, well, well, well]), [0]);
        assert_eq!(found(&[(50, 50), well, well, well]), [], "four of five");
        assert_eq!(found(&[(49, 50), well, well, well, well]), [], "99 of 100");
        assert_eq!(found(&[(49, 50), (50, 50), well, well, well, well]), [1]);
        assert_eq!(found(&[(7, 93); 9]), [], "all are as bad");
        // Two of six that fail as much spoil the mean, and stay: two thirds of a standard deviation is all they are away.
        assert_eq!(found(&[(0, 100), (0, 100), well, well, well, well]), []);
    }

    #[test]
    fn equal_rates_eject_nobody_even_without_any_tolerance() {
        let config = SuccessRateConfig::default()
            .with_stdev_factor(0)
            .expect("in range");
        for rate in 0..=100 {
            assert_eq!(
                keys(&by_success_rate(
                    &config,
                    &tallies(&[(rate, 100 - rate); 7])
                )),
                [],
                "{rate} %"
            );
        }
    }

    #[test]
    fn the_failure_percentage_is_reached_exactly() {
        let config = FailurePercentageConfig::default();
        let found = |of: &[(u64, u64)]| keys(&by_failure_percentage(&config, &tallies(of)));
        let well = (100, 0);
        assert_eq!(found(&[(15, 85), (16, 84), well, well, well]), [0]);
        assert_eq!(found(&[(0, 49), (0, 50), well, well, well, well]), [1]);
        assert_eq!(found(&[(0, 50), well, well, well]), [], "four of five");
        assert_eq!(found(&[(0, 100); 5]), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn no_number_is_too_large() {
        let most = [(u64::MAX, u64::MAX), (0, u64::MAX), (u64::MAX, 0)];
        let of = tallies(&[most[0], most[1], most[2], most[2], most[2]]);
        let rate = SuccessRateConfig::default();
        assert_eq!(keys(&by_success_rate(&rate, &of)), []);
        let percentage = FailurePercentageConfig::default();
        assert_eq!(keys(&by_failure_percentage(&percentage, &of)), [1]);
        let none = MemberTally {
            key: 0,
            healthy: true,
            successes: 0,
            failures: 0,
        };
        assert_eq!(none.success_rate(), 0);
    }
}

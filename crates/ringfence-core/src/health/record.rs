use super::HealthCheckConfig;

/// What the checks of one instance came to: a state machine that wants several results in a row before it changes its mind.
///
/// ```
/// use ringfence_core::{CheckRecord, HealthCheckConfig};
///
/// let config = HealthCheckConfig::default(); // three failures take it out, two passes bring it back
/// let mut record = CheckRecord::new(&config);
/// assert!(record.is_up(), "nothing is known against it");
/// let flips = [false, false, false, true, true].map(|passed| record.record(passed, &config));
/// assert_eq!(flips, [false, false, true, false, true]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckRecord {
    up: bool,
    /// Results in a row that say the opposite.
    against: u32,
    checked: bool,
    was_up: bool,
}

impl CheckRecord {
    /// Of an instance that was not checked yet.
    #[must_use]
    pub fn new(config: &HealthCheckConfig) -> Self {
        Self {
            up: !config.require_pass(),
            against: 0,
            checked: false,
            was_up: !config.require_pass(),
        }
    }

    /// Takes a result in. Returns whether the instance went up or down by it.
    #[must_use = "an instance that went down is to be left out"]
    pub fn record(&mut self, passed: bool, config: &HealthCheckConfig) -> bool {
        let is_first = !std::mem::replace(&mut self.checked, true);
        if passed == self.up {
            self.against = 0;
            return false;
        }
        self.against = self.against.saturating_add(1);
        let needed = match passed {
            // It waits for this one only because nothing is known of it.
            true if is_first => 1,
            true => config.rise(),
            false => config.fall(),
        };
        let flips = self.against >= needed;
        if flips {
            self.up = passed;
            self.was_up |= passed;
            self.against = 0;
        }
        flips
    }

    /// Whether the instance may get requests, as far as the checks go.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.up
    }

    /// Whether it was never up: it has to pass, and did not yet.
    #[must_use]
    pub fn is_awaited(&self) -> bool {
        !self.was_up
    }

    /// Whether there was a result yet.
    #[must_use]
    pub fn is_checked(&self) -> bool {
        self.checked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(config: &HealthCheckConfig, results: &str) -> String {
        let mut record = CheckRecord::new(config);
        let after = |passed| {
            let before = record.is_up();
            let flipped = record.record(passed, config);
            assert_eq!(flipped, before != record.is_up());
            if record.is_up() { 'U' } else { 'd' }
        };
        results
            .chars()
            .map(|result| result == '+')
            .map(after)
            .collect()
    }

    #[test]
    fn it_takes_results_in_a_row() {
        let config = HealthCheckConfig::default();
        assert_eq!(run(&config, "---"), "UUd");
        assert_eq!(
            run(&config, "--+--+--+"),
            "UUUUUUUUU",
            "one pass starts the count anew"
        );
        assert_eq!(run(&config, "---+-+-++-"), "UUddddddUU");
    }

    #[test]
    fn the_first_result_decides_where_a_pass_is_required() {
        let config = HealthCheckConfig::default().with_require_pass(true);
        assert!(!CheckRecord::new(&config).is_up());
        assert_eq!(run(&config, "+"), "U");
        assert_eq!(run(&config, "-++"), "ddU", "later ones as usual");
        assert_eq!(run(&config, "+---"), "UUUd");
    }

    #[test]
    fn thresholds_of_one_follow_each_result() {
        let config = HealthCheckConfig::default()
            .with_rise(1)
            .and_then(|c| c.with_fall(1));
        assert_eq!(run(&config.expect("legal"), "-+--+"), "dUddU");
    }
}

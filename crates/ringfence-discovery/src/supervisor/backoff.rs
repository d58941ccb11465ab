//! How long to wait before the next try.

use std::time::Duration;

/// Exponential backoff with full jitter: a wait is drawn evenly from zero to a ceiling that doubles with each failure.
///
/// The very first wait is jittered too, so that the clients of a registry that just restarted do not return as one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Backoff {
    base: Duration,
    max: Duration,
    failures: u32,
}

impl Backoff {
    pub(crate) fn new(base: Duration, max: Duration) -> Self {
        Self {
            base,
            max,
            failures: 0,
        }
    }

    pub(crate) fn reset(&mut self) {
        self.failures = 0;
    }

    pub(crate) fn ceiling(&self) -> Duration {
        let factor = 1u32.checked_shl(self.failures).unwrap_or(u32::MAX);
        self.base.saturating_mul(factor).min(self.max)
    }

    pub(crate) fn next_wait(&mut self, rng: &mut fastrand::Rng) -> Duration {
        let wait = between(rng, Duration::ZERO, self.ceiling());
        self.failures = self.failures.saturating_add(1);
        wait
    }
}

/// Evenly from `low` to `high`.
pub(crate) fn between(rng: &mut fastrand::Rng, low: Duration, high: Duration) -> Duration {
    let span = high.saturating_sub(low).as_nanos();
    low + Duration::from_nanos(rng.u64(0..=u64::try_from(span).unwrap_or(u64::MAX)))
}

/// `interval` plus or minus up to `percent` of it.
pub(crate) fn jittered(rng: &mut fastrand::Rng, interval: Duration, percent: u8) -> Duration {
    let spread = interval / 100 * u32::from(percent);
    between(
        rng,
        interval.saturating_sub(spread),
        interval.saturating_add(spread),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: Duration = Duration::from_millis(100);
    const MAX: Duration = Duration::from_secs(30);

    #[test]
    fn the_ceiling_doubles_up_to_the_maximum_and_survives_any_count() {
        let mut backoff = Backoff::new(BASE, MAX);
        let mut rng = fastrand::Rng::with_seed(1);
        let mut ceilings = Vec::new();
        for _ in 0..100 {
            ceilings.push(backoff.ceiling());
            assert!(backoff.next_wait(&mut rng) <= *ceilings.last().expect("pushed"));
        }
        assert_eq!(ceilings[..3], [BASE, BASE * 2, BASE * 4]);
        assert_eq!(ceilings[8], Duration::from_millis(25_600));
        assert!(ceilings[9..].iter().all(|c| *c == MAX));
        backoff.reset();
        assert_eq!(backoff.ceiling(), BASE);
    }

    #[test]
    fn the_first_wait_is_spread_over_the_whole_range() {
        let first: Vec<Duration> = (0..200)
            .map(|seed| Backoff::new(BASE, MAX).next_wait(&mut fastrand::Rng::with_seed(seed)))
            .collect();
        assert!(first.iter().any(|w| *w < BASE / 5));
        assert!(first.iter().any(|w| *w > BASE * 4 / 5));
    }

    #[test]
    fn jitter_stays_within_its_percentage() {
        let mut rng = fastrand::Rng::with_seed(3);
        let interval = Duration::from_secs(300);
        let waits: Vec<Duration> = (0..500).map(|_| jittered(&mut rng, interval, 20)).collect();
        assert!(
            waits
                .iter()
                .all(|w| (240.0..=360.0).contains(&w.as_secs_f64()))
        );
        assert!(waits.iter().any(|w| w.as_secs() < 250) && waits.iter().any(|w| w.as_secs() > 350));
        assert_eq!(jittered(&mut rng, interval, 0), interval);
    }
}

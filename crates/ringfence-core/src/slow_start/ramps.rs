use std::{
    collections::HashMap,
    hash::Hash,
    time::{Duration, Instant},
};

use super::SlowStartConfig;

/// Who is starting slowly, and how far each is.
///
/// The steps of all are taken together, ten in a window, so that any number of new members makes ten rings a window.
///
/// # Examples
/// ```
/// use std::time::{Duration, Instant};
/// use ringfence_core::{SlowStart, SlowStartConfig};
///
/// let config = SlowStartConfig::default().with_window(Duration::from_secs(60))?;
/// let (mut slow_start, start) = (SlowStart::new(config), Instant::now());
/// slow_start.begin("new", start);
/// assert_eq!(slow_start.weight(&"new", 200), Some(20));
/// assert_eq!(slow_start.weight(&"old", 200), None);
///
/// let next = start + Duration::from_secs(6);
/// assert_eq!(slow_start.deadline(), Some(next));
/// slow_start.step(start + Duration::from_secs(30));
/// assert_eq!(slow_start.weight(&"new", 200), Some(100));
/// # Ok::<(), ringfence_core::ConfigError>(())
/// ```
#[derive(Debug)]
pub struct SlowStart<I> {
    config: SlowStartConfig,
    ramps: HashMap<I, Ramp>,
    next: Option<Instant>,
}

#[derive(Debug)]
struct Ramp {
    start: Instant,
    permille: u32,
}

const STEPS: u32 = 10;

impl<I: Clone + Eq + Hash> SlowStart<I> {
    /// Nobody starts.
    #[must_use]
    pub fn new(config: SlowStartConfig) -> Self {
        Self {
            config,
            ramps: HashMap::new(),
            next: None,
        }
    }

    /// A member starts now, at its lowest weight. Without a window nothing happens.
    pub fn begin(&mut self, id: I, now: Instant) {
        if self.config.window().is_zero() {
            return;
        }
        let permille = self.config.permille_at(Duration::ZERO);
        self.ramps.insert(
            id,
            Ramp {
                start: now,
                permille,
            },
        );
        let next = now + self.interval();
        self.next.get_or_insert(next);
    }

    /// One that starts slowly begins anew, as when it gets its first requests now; nothing happens to others.
    pub fn restart(&mut self, id: &I, now: Instant) {
        if let Some(ramp) = self.ramps.get_mut(id) {
            ramp.start = now;
        }
    }

    /// How many have not yet all of their weight.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ramps.len()
    }

    /// Whether everyone has all of their weight.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ramps.is_empty()
    }

    /// Forgets those that are not known any more.
    pub fn retain(&mut self, mut is_known: impl FnMut(&I) -> bool) {
        self.ramps.retain(|id, _| is_known(id));
    }

    /// When the next [`step`](Self::step) is due.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        self.next
    }

    /// Takes the step of all, if it is due; whether a weight changed.
    pub fn step(&mut self, now: Instant) -> bool {
        if self.next.is_none_or(|next| next > now) {
            return false;
        }
        let mut has_changed = false;
        let config = self.config;
        self.ramps.retain(|_, ramp| {
            let elapsed = now.saturating_duration_since(ramp.start);
            let permille = config.permille_at(elapsed);
            has_changed |= permille != ramp.permille;
            ramp.permille = permille;
            elapsed < config.window()
        });
        self.next = (!self.ramps.is_empty()).then(|| now + self.interval());
        has_changed
    }

    /// What is left of a member's weight for now: at least 1, unless the weight is 0. `None` where it has all of it.
    #[must_use]
    pub fn weight(&self, id: &I, weight: u32) -> Option<u32> {
        let ramp = self.ramps.get(id)?;
        let part = u64::from(weight) * u64::from(ramp.permille) / 1_000;
        let part = u32::try_from(part).unwrap_or(weight);
        Some(part.max(weight.min(1)))
    }

    fn interval(&self) -> Duration {
        self.config.window() / STEPS
    }
}

#[cfg(test)]
#[allow(
    clippy::disallowed_methods,
    reason = "tests need some time to start from"
)]
mod tests {
    use super::*;

    fn slow_start() -> (SlowStart<u32>, Instant) {
        let config = SlowStartConfig::default().with_window(Duration::from_secs(100));
        (SlowStart::new(config.expect("legal")), Instant::now())
    }

    /// Takes all steps that are due until then; how many there were.
    fn run(slow_start: &mut SlowStart<u32>, until: Instant) -> usize {
        let mut steps = 0;
        while let Some(next) = slow_start.deadline().filter(|next| *next <= until) {
            slow_start.step(next);
            steps += 1;
        }
        steps
    }

    #[test]
    fn a_weight_grows_in_ten_steps_and_then_is_its_own() {
        let (mut slow_start, start) = slow_start();
        slow_start.begin(1, start);
        let mut weights = Vec::new();
        while let Some(next) = slow_start.deadline() {
            weights.push(slow_start.weight(&1, 1_000).expect("it starts"));
            slow_start.step(next);
        }
        assert_eq!(weights, [100, 100, 200, 300, 400, 500, 600, 700, 800, 900]);
        assert_eq!(slow_start.weight(&1, 1_000), None);
    }

    #[test]
    fn many_share_their_steps() {
        let (mut slow_start, start) = slow_start();
        let second = Duration::from_secs(1);
        let mut steps = 0;
        for n in 0..100 {
            steps += run(&mut slow_start, start + n * second);
            slow_start.begin(n, start + n * second);
        }
        assert!(steps <= 10, "{steps}");
        // The last one starts at 99 s and is done with the step after 199 s.
        steps = run(&mut slow_start, start + 300 * second);
        assert!(steps <= 11, "{steps}");
        assert_eq!((slow_start.deadline(), slow_start.ramps.len()), (None, 0));
    }

    #[test]
    fn every_weight_but_none_leaves_something() {
        let (mut slow_start, start) = slow_start();
        slow_start.begin(1, start);
        assert_eq!(slow_start.weight(&1, 0), Some(0));
        assert_eq!(slow_start.weight(&1, 3), Some(1));
        assert_eq!(slow_start.weight(&1, u32::MAX), Some(429_496_729));
        slow_start.retain(|_| false);
        assert_eq!(slow_start.weight(&1, 3), None);
    }

    #[test]
    fn without_a_window_nobody_starts_slowly() {
        let mut slow_start = SlowStart::new(SlowStartConfig::default());
        let now = Instant::now();
        slow_start.begin(1, now);
        assert_eq!(
            (slow_start.weight(&1, 9), slow_start.deadline()),
            (None, None)
        );
        assert!(!slow_start.step(now));
    }
}

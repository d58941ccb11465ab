//! All candidates one after the other within each round, so that what disturbs the machine hits all alike; then the median over
//! the rounds.

use std::time::{Duration, Instant};

const ROUNDS: usize = 11;

/// What one candidate does: `count` operations, and how long they took.
pub(crate) type Work<'a> = Box<dyn FnMut(u32) -> Duration + 'a>;

/// Nanoseconds an operation of each candidate in each round.
#[derive(Debug)]
pub(crate) struct Times {
    rounds: Vec<Vec<f64>>,
}

/// Runs the candidates in turns of `count` operations.
pub(crate) fn interleaved<const N: usize>(count: u32, mut candidates: [Work<'_>; N]) -> Times {
    let mut rounds = Vec::new();
    uncounted(|| {
        // The first round fills caches and pages.
        for work in &mut candidates {
            work(count);
        }
        for _ in 0..ROUNDS {
            let nanos = |work: &mut Work<'_>| work(count).as_secs_f64() * 1e9 / f64::from(count);
            rounds.push(candidates.iter_mut().map(nanos).collect());
        }
    });
    Times { rounds }
}

/// Does work whose allocations are not to be counted: its time and its instructions are nearly those of the system's allocator
/// alone, where counting would make each allocation several times as dear.
pub(crate) fn uncounted<T>(work: impl FnOnce() -> T) -> T {
    let mut done = None;
    allocation_counter::opt_out(|| done = Some(work()));
    done.expect("it has been done")
}

impl Times {
    /// Nanoseconds an operation.
    pub(crate) fn of(&self, candidate: usize) -> f64 {
        median(self.rounds.iter().map(|round| round[candidate]))
    }

    /// The median of the ratios within a round.
    pub(crate) fn ratio(&self, candidate: usize, peer: usize) -> f64 {
        let rounds = self.rounds.iter();
        median(rounds.map(|round| round[candidate] / round[peer]))
    }

    /// The same of what two candidates cost above a third.
    pub(crate) fn ratio_above(&self, base: usize, candidate: usize, peer: usize) -> f64 {
        let rounds = self.rounds.iter();
        median(rounds.map(|round| (round[candidate] - round[base]) / (round[peer] - round[base])))
    }

    /// Nanoseconds an operation that a candidate costs above another one, the median of the rounds.
    pub(crate) fn above(&self, base: usize, candidate: usize) -> f64 {
        let rounds = self.rounds.iter();
        median(rounds.map(|round| round[candidate] - round[base]))
    }

    /// Both sides of a ratio.
    pub(crate) fn sides(&self, candidate: usize, peer: usize) -> String {
        format!("{} : {}", time(self.of(candidate)), time(self.of(peer)))
    }
}

/// Nanoseconds in a unit that suits them.
pub(crate) fn time(nanos: f64) -> String {
    match nanos {
        n if n < 1e4 => format!("{n:.1} ns"),
        n if n < 1e7 => format!("{:.1} us", n / 1e3),
        n => format!("{:.1} ms", n / 1e6),
    }
}

pub(crate) fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// How long it takes.
pub(crate) fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

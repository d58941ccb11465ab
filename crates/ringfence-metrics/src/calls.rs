//! Calls as they end.

use std::time::Duration;

use prometheus::proto::{Bucket, Histogram};
use ringfence_balancer::{CallEnd, CallObserver, CallOutcome, StripedCounters};

/// Upper bounds of the buckets, in nanoseconds: from a tenth of a millisecond to ten seconds. What took longer is in one more.
const BOUNDS: [u64; 16] = [
    100_000,
    250_000,
    500_000,
    1_000_000,
    2_500_000,
    5_000_000,
    10_000_000,
    25_000_000,
    50_000_000,
    100_000_000,
    250_000_000,
    500_000_000,
    1_000_000_000,
    2_500_000_000,
    5_000_000_000,
    10_000_000_000,
];

// Places of the counters, buckets first. The sum lies beside the successes, so that most calls write to two cache lines.
const BUCKETS: usize = BOUNDS.len() + 1;
/// Of the durations, in nanoseconds: five hundred years of calls.
const SUM: usize = BUCKETS;
const OUTCOMES: usize = SUM + 1;
const COUNTERS: usize = OUTCOMES + CallOutcome::ALL.len();

/// The calls of a label of a service, from all balancers that have it.
///
/// They are counted in whole nanoseconds, in counters that are nearly each thread's own: to count a call writes to nothing that another
/// thread writes to.
#[derive(Debug, Default)]
pub(crate) struct PoolCalls(StripedCounters<COUNTERS>);

impl CallObserver for PoolCalls {
    fn ended(&self, call: &CallEnd<'_>) {
        let took = u64::try_from(call.took.as_nanos()).unwrap_or(u64::MAX);
        let bucket = BOUNDS.iter().position(|bound| took <= *bound);
        let bucket = bucket.unwrap_or(BOUNDS.len());
        let outcome = OUTCOMES + call.outcome.index();
        self.0.add([(bucket, 1), (SUM, took), (outcome, 1)]);
    }
}

impl PoolCalls {
    /// What was counted until now; calls that end at this moment may be there in part.
    pub(crate) fn counted(&self) -> Counted {
        Counted(self.0.totals())
    }
}

/// What was counted until a scrape.
pub(crate) struct Counted([u64; COUNTERS]);

impl Counted {
    /// Outcomes that were there, and how often.
    pub(crate) fn outcomes(&self) -> impl Iterator<Item = (CallOutcome, u64)> {
        let counts = CallOutcome::ALL
            .into_iter()
            .zip(self.0.iter().skip(OUTCOMES));
        counts
            .filter(|(_, count)| **count > 0)
            .map(|(outcome, count)| (outcome, *count))
    }

    /// Its count is the sum of its buckets.
    pub(crate) fn durations(&self) -> Histogram {
        let mut count = 0_u64;
        let buckets = BOUNDS.iter().zip(self.0).map(|(bound, in_it)| {
            count = count.wrapping_add(in_it);
            let mut bucket = Bucket::default();
            bucket.set_upper_bound(Duration::from_nanos(*bound).as_secs_f64());
            bucket.set_cumulative_count(count);
            bucket
        });
        let mut histogram = Histogram::default();
        histogram.set_bucket(buckets.collect());
        histogram.set_sample_count(count.wrapping_add(self.0[BOUNDS.len()]));
        histogram.set_sample_sum(Duration::from_nanos(self.0[SUM]).as_secs_f64());
        histogram
    }
}

//! Calls are counted by each thread for itself, and a scrape shows them as one histogram and one counter.

use std::{
    collections::BTreeMap,
    sync::{
        Barrier,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use ringfence_balancer::{Balancer, CallOutcome, PickRequest};
use ringfence_metrics::Metrics;
use tokio::time::advance;

use crate::support::*;

const SUCCESSES: &str =
    "ringfence_requests_total{outcome=\"success\",pool=\"default/0\",service=\"order\"}";

/// Upper bounds and counts of the buckets of `default/0`, as they stand in the text.
fn buckets(text: &str) -> Vec<(String, f64)> {
    let start =
        "ringfence_request_duration_seconds_bucket{pool=\"default/0\",service=\"order\",le=\"";
    let of_it = text.lines().filter_map(|line| line.strip_prefix(start));
    let buckets = of_it.map(|line| {
        let (bound, count) = line.split_once("\"} ").expect("a bucket");
        (bound.to_owned(), count.parse().expect("a number"))
    });
    buckets.collect()
}

fn of_durations(text: &str, suffix: &str) -> f64 {
    let name = format!(
        "ringfence_request_duration_seconds_{suffix}{{pool=\"default/0\",service=\"order\"}}"
    );
    series(text)[&name]
}

/// More at once than have counters of their own, and one generation after the other.
#[tokio::test(start_paused = true)]
async fn threads_that_come_and_go_lose_no_call() {
    let metrics = Metrics::new();
    let (_registry, balancer) = fleet(&metrics).await;
    let all = Barrier::new(24);
    for _ in 0..20 {
        std::thread::scope(|scope| {
            for _ in 0..24 {
                scope.spawn(|| {
                    all.wait();
                    (0..50).for_each(|_| call(&balancer, "k", CallOutcome::Success));
                });
            }
        });
    }
    let text = metrics.render();
    let calls = f64::from(20 * 24 * 50);
    assert_eq!(series(&text)[SUCCESSES], calls);
    assert_eq!(of_durations(&text, "count"), calls);
    assert_eq!(buckets(&text).last(), Some(&("+Inf".to_owned(), calls)));
    assert!(of_durations(&text, "sum") > 0.0);
}

/// Whatever moment a scrape comes at, the parts of a histogram agree, and nothing falls.
#[tokio::test(start_paused = true)]
async fn a_scrape_beside_calls_is_consistent() {
    let metrics = Metrics::new();
    let (_registry, balancer) = fleet(&metrics).await;
    call(&balancer, "k", CallOutcome::Success);
    let running = AtomicUsize::new(4);
    let mut scrapes = 0;
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                (0..2_000).for_each(|_| call(&balancer, "k", CallOutcome::Success));
                running.fetch_sub(1, Ordering::Relaxed);
            });
        }
        let mut before = BTreeMap::new();
        while running.load(Ordering::Relaxed) > 0 {
            let text = metrics.render();
            let counts: Vec<_> = buckets(&text).into_iter().map(|(_, count)| count).collect();
            assert!(counts.len() == 17 && counts.is_sorted(), "{counts:?}");
            assert_eq!(counts.last(), Some(&of_durations(&text, "count")));
            let mut now = series(&text);
            now.retain(|name, _| name.starts_with("ringfence_request"));
            for (name, value) in &before {
                assert!(now[name] >= *value, "{name}: {value} {}", now[name]);
            }
            before = now;
            scrapes += 1;
        }
    });
    assert!(scrapes > 0);
    let text = metrics.render();
    assert_eq!(series(&text)[SUCCESSES], 8_001.0);
    assert_eq!(of_durations(&text, "count"), 8_001.0);
}

/// A call that took just as long as the bound of a bucket is in it, and one of a nanosecond more is in the next one.
#[tokio::test(start_paused = true)]
async fn bounds_belong_to_their_buckets() {
    let metrics = Metrics::new();
    let (_registry, balancer) = fleet(&metrics).await;
    let bounds = [
        "0.0001", "0.00025", "0.0005", "0.001", "0.0025", "0.005", "0.01", "0.025", "0.05", "0.1",
        "0.25", "0.5", "1", "2.5", "5", "10",
    ];
    let mut sum = Duration::ZERO;
    for bound in bounds {
        let bound = Duration::from_secs_f64(bound.parse().expect("a number"));
        for took in [bound, bound + Duration::from_nanos(1)] {
            take(&balancer, took).await;
            sum += took;
        }
    }
    let text = metrics.render();
    let names = bounds.into_iter().chain(["+Inf"]).map(ToOwned::to_owned);
    // One in the first, and two in each of the others.
    let counts = (0..16).map(|n| f64::from(2 * n + 1)).chain([32.0]);
    assert_eq!(buckets(&text), names.zip(counts).collect::<Vec<_>>());
    assert_eq!(of_durations(&text, "sum"), sum.as_secs_f64());
    assert_eq!(of_durations(&text, "count"), 32.0);
}

async fn take(balancer: &Balancer, time: Duration) {
    let mut call = balancer.observe_call().expect("observed");
    let decision = balancer.pick(&PickRequest::new());
    call.decided(decision.expect("an owner").choice(), None);
    advance(time).await;
    call.end(CallOutcome::Success, None);
}

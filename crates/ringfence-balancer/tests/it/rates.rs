//! Ejection by success rate and failure percentage.

use ringfence_balancer::{
    Balancer, BalancerConfig, Candidate, FailureKind, FailurePercentageConfig, Outcome,
    OutlierConfig, PickRequest, SuccessRateConfig,
};

use crate::support::*;

fn rate() -> OutlierConfig {
    OutlierConfig::off().with_success_rate(SuccessRateConfig::default())
}

fn percentage() -> OutlierConfig {
    OutlierConfig::off().with_failure_percentage(FailurePercentageConfig::default())
}

async fn of(instances: usize, outlier: OutlierConfig) -> (Balancer, Vec<Candidate>) {
    let registry = registry((0..instances).map(instance));
    let outlier = outlier.with_max_ejection_percent(50).expect("valid");
    let config = BalancerConfig::default().with_outlier(outlier);
    let balancer = balancer(&registry, config).await;
    // Between two sweeps.
    settle().await;
    let candidates = (0..instances).map(|n| {
        let key = key_of(&balancer, &format!("i{n}"));
        let decision = balancer.pick(&PickRequest::new().with_key(&key));
        decision.expect("an owner").first().clone()
    });
    let candidates = candidates.collect();
    (balancer, candidates)
}

/// Alternating, so that there are never two failures in a row.
fn report(candidate: &Candidate, successes: usize, failures: usize) {
    for n in 0..successes.max(failures) {
        if n < failures {
            let failure = Outcome::Failure(FailureKind::Status);
            candidate.begin().report(failure);
        }
        if n < successes {
            candidate.begin().report(Outcome::Success);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_instance_far_below_the_others_is_ejected_at_the_next_sweep() {
    let (balancer, all) = of(5, rate()).await;
    report(&all[0], 50, 50);
    for well in &all[1..] {
        report(well, 100, 0);
    }
    settle().await;
    assert_eq!(balancer.status().ejected, 0, "not before the interval");
    seconds(10).await;
    let status = balancer.status();
    assert!(all[0].node().is_ejected());
    assert_eq!((status.ejected, status.counters.ejections), (1, 1));
    assert_eq!(status.counters.ejections_by_success_rate, 1);
    // Its time is over, and it proves itself.
    seconds(34).await;
    assert_eq!(balancer.status().on_trial, 1);
    report(&all[0], 3, 0);
    settle().await;
    assert_eq!(balancer.status().on_trial, 0);
}

#[tokio::test(start_paused = true)]
async fn each_interval_is_judged_by_itself() {
    let (balancer, all) = of(5, percentage()).await;
    // 49 requests at a time are too few, however often.
    for _ in 0..5 {
        for candidate in &all {
            report(candidate, 1, 48);
        }
        seconds(10).await;
    }
    assert_eq!(balancer.status().counters.ejections, 0);
    for candidate in &all {
        report(candidate, 7, 43);
    }
    seconds(10).await;
    let counters = balancer.status().counters;
    assert_eq!(counters.ejections_by_failure_percentage, 2, "half of five");
    assert_eq!(counters.ejections_refused, 3);
}

#[tokio::test(start_paused = true)]
async fn what_is_not_enforced_is_counted() {
    let spared = FailurePercentageConfig::default().with_enforcement_percentage(0);
    let outlier = percentage().with_failure_percentage(spared.expect("valid"));
    let (balancer, all) = of(5, outlier).await;
    for candidate in &all {
        report(candidate, 0, 50);
    }
    seconds(10).await;
    let counters = balancer.status().counters;
    assert_eq!(
        (counters.ejections, counters.ejections_not_enforced),
        (0, 5)
    );
}

#[tokio::test(start_paused = true)]
async fn callers_that_give_up_are_no_failures() {
    let (balancer, all) = of(5, percentage()).await;
    for candidate in &all {
        for _ in 0..200 {
            drop(candidate.begin());
            candidate.begin().report(Outcome::Neutral);
        }
    }
    seconds(10).await;
    assert_eq!(balancer.status().counters.ejections, 0);
}

/// The cap is exact for all causes together, whatever the size (B19).
#[tokio::test(start_paused = true)]
async fn the_cap_is_exact_for_all_causes_together() {
    for instances in [1, 2, 3, 5, 9, 10, 19, 20] {
        for (percent, one) in [
            (0, false),
            (10, false),
            (10, true),
            (50, false),
            (100, false),
        ] {
            let registry = registry((0..instances).map(instance));
            let outlier = OutlierConfig::default()
                .with_success_rate(SuccessRateConfig::default())
                .with_failure_percentage(
                    FailurePercentageConfig::default()
                        .with_minimum_hosts(1)
                        .expect("valid"),
                )
                .with_max_ejection_percent(percent)
                .expect("valid")
                .with_always_eject_one(one);
            let config = BalancerConfig::default().with_outlier(outlier);
            let balancer = balancer(&registry, config).await;
            let view = balancer.view().expect("ready");
            let all: Vec<_> = view.snapshot().instances().iter().collect();
            let seats: Vec<_> = all
                .iter()
                .map(|instance| {
                    let key = key_of(&balancer, instance.id().as_str());
                    let decision = balancer.pick(&PickRequest::new().with_key(&key));
                    decision.expect("an owner").first().clone()
                })
                .collect();
            for (n, seat) in seats.iter().enumerate() {
                match n % 3 {
                    0 => (0..3).for_each(|_| {
                        let failure = Outcome::Failure(FailureKind::Connect);
                        seat.begin().report(failure);
                    }),
                    1 => (0..5).for_each(|_| {
                        let failure = Outcome::Failure(FailureKind::Timeout);
                        seat.begin().report(failure);
                    }),
                    _ => report(seat, 4, 96),
                }
            }
            settle().await;
            for seat in &seats {
                report(seat, 1, 99);
            }
            seconds(11).await;
            let share = instances * percent as usize / 100;
            let share = if share == 0 && one && instances >= 3 {
                1
            } else {
                share
            };
            let ejected = balancer.status().ejected;
            assert_eq!(
                ejected,
                share.min(instances - 1),
                "{instances} instances, {percent} %, one: {one}"
            );
        }
    }
}

#![allow(
    clippy::disallowed_methods,
    reason = "tests need some time to start from"
)]

mod returning;
mod simulation;
mod sweeping;

use std::time::{Duration, Instant};

use super::*;

const BASE: Duration = Duration::from_secs(30);

const CAUSES: [EjectionCause; 5] = [
    EjectionCause::ConsecutiveFailures,
    EjectionCause::ConsecutiveConnectFailures,
    EjectionCause::SuccessRate,
    EjectionCause::FailurePercentage,
    EjectionCause::TrialFailed,
];

const FAILS: Suspicion = Suspicion {
    cause: EjectionCause::ConsecutiveFailures,
    healthy: true,
    unreachable: false,
};

const AT_LIMIT: Option<OutlierDecision> = Some(OutlierDecision::Refused {
    cause: EjectionCause::ConsecutiveFailures,
    why: Refusal::AtLimit,
});

/// Length and number of an ejection, if it is one.
fn ejected(decision: Option<OutlierDecision>) -> Option<(Duration, u32)> {
    match decision {
        Some(OutlierDecision::Ejected { length, times, .. }) => Some((length, times)),
        _ => None,
    }
}

fn eject(detector: &mut OutlierDetector<usize>, key: usize, now: Instant) -> (Duration, u32) {
    ejected(detector.failing(&key, FAILS, 0.0, now)).expect("it is ejected")
}

/// Those that returned, whatever for.
fn returned(events: &[OutlierEvent<usize>]) -> Vec<usize> {
    let is_return =
        |event: &&OutlierEvent<usize>| matches!(event.decision, OutlierDecision::Returned { .. });
    events
        .iter()
        .filter(is_return)
        .map(|event| event.key)
        .collect()
}

fn detector(percent: u32, total: usize) -> (OutlierDetector<usize>, Instant) {
    with_option(percent, total, false)
}

fn with_option(percent: u32, total: usize, one: bool) -> (OutlierDetector<usize>, Instant) {
    let config = OutlierConfig::default()
        .with_max_ejection_percent(percent)
        .expect("in range")
        .with_always_eject_one(one);
    of(config, total)
}

fn of(config: OutlierConfig, total: usize) -> (OutlierDetector<usize>, Instant) {
    let mut detector = OutlierDetector::new(config);
    let now = Instant::now();
    let _ = detector.resize(total, total, |_| Some(true), now);
    (detector, now)
}

fn eject_all(detector: &mut OutlierDetector<usize>, total: usize, now: Instant) -> usize {
    // Twice: a second report of an ejected one must not use up the share.
    for instance in (0..total).chain(0..total) {
        let _ = detector.failing(&instance, FAILS, 0.0, now);
    }
    detector.ejected()
}

/// By all causes, one instance after the other, and in sweeps.
fn eject_all_by_all_causes(detector: &mut OutlierDetector<usize>, total: usize, now: Instant) {
    let tally = |key| MemberTally {
        key,
        healthy: true,
        successes: 0,
        failures: 100,
    };
    let tallies: Vec<_> = (0..total).map(tally).collect();
    for (instance, cause) in (0..total).zip(CAUSES.into_iter().cycle()) {
        if instance % 3 == 0 {
            let suspicion = Suspicion { cause, ..FAILS };
            let _ = detector.failing(&instance, suspicion, 0.0, now);
        }
    }
    for _ in 0..2 {
        let _ = detector.sweep(&tallies, || 0.0, now);
    }
    for (instance, cause) in (0..total).zip(CAUSES.into_iter().cycle()) {
        let suspicion = Suspicion { cause, ..FAILS };
        let _ = detector.failing(&instance, suspicion, 0.0, now);
    }
}

#[test]
fn the_share_is_exact_for_all_sizes_limits_and_causes() {
    for total in 0..=50 {
        for percent in 0..=100 {
            for one in [false, true] {
                let (mut detector, now) = with_option(percent, total, one);
                let share = total * percent as usize / 100;
                let share = if share == 0 && one && total >= 3 {
                    1
                } else {
                    share
                };
                let expected = share.min(total.saturating_sub(1));
                let ejected = eject_all(&mut detector, total, now);
                let told = format!("{total} instances, {percent} %, one: {one}");
                assert_eq!(ejected, expected, "{told}");

                let config = OutlierConfig::default()
                    .with_failure_percentage(FailurePercentageConfig::default())
                    .with_max_ejection_percent(percent)
                    .expect("in range")
                    .with_always_eject_one(one);
                let (mut detector, now) = of(config, total);
                eject_all_by_all_causes(&mut detector, total, now);
                assert_eq!(detector.ejected(), expected, "{told}");
            }
        }
    }
}

#[test]
fn by_default_one_of_a_small_service_may_go() {
    for (total, allowed) in [(0, 0), (1, 0), (2, 0), (3, 1), (9, 1), (10, 1), (20, 2)] {
        assert_eq!(
            OutlierConfig::default().allowed(total),
            allowed,
            "of {total}"
        );
    }
}

#[test]
fn three_failing_instances() {
    for (percent, expected) in [(67, 2), (50, 1), (10, 0)] {
        let (mut detector, now) = detector(percent, 3);
        assert_eq!(eject_all(&mut detector, 3, now), expected, "{percent} %");
    }
    let (mut detector, now) = with_option(10, 3, true);
    assert_eq!(eject_all(&mut detector, 3, now), 1);
}

#[test]
fn the_last_healthy_one_stays_even_if_unhealthy_ones_are_there() {
    let (mut detector, now) = detector(100, 4);
    let _ = detector.resize(4, 1, |_| Some(false), now);
    assert_eq!(detector.failing(&0, FAILS, 0.0, now), AT_LIMIT);
    let unhealthy = Suspicion {
        healthy: false,
        ..FAILS
    };
    assert!(ejected(detector.failing(&1, unhealthy, 0.0, now)).is_some());
}

#[test]
fn a_shrinking_pool_restores_the_share() {
    let (mut detector, now) = detector(30, 10);
    for instance in 0..3 {
        let at = now + Duration::from_secs(instance as u64);
        eject(&mut detector, instance, at);
    }
    let events = detector.resize(3, 3, |id| (*id < 3).then_some(true), now);
    assert_eq!(returned(&events), [0, 1, 2]);
    assert_eq!(detector.ejected(), 0);

    let (mut detector, now) = with_option(100, 10, false);
    eject_all(&mut detector, 3, now);
    let events = detector.resize(3, 3, |id| (*id < 3).then_some(true), now);
    assert_eq!(returned(&events).len(), 1, "one must be left");
}

#[test]
fn ejections_get_longer_up_to_the_maximum_and_never_stop() {
    let (mut detector, mut now) = detector(50, 4);
    for round in 1..=20_u32 {
        let (length, times) = eject(&mut detector, 0, now);
        assert_eq!(times, round);
        assert_eq!(length, (BASE * round).min(Duration::from_secs(300)));
        assert_eq!(detector.failing(&0, FAILS, 0.0, now), None);
        assert!(
            detector
                .due(now + length - Duration::from_millis(1))
                .is_empty()
        );
        now += length;
        assert_eq!(returned(&detector.due(now)), [0]);
    }
}

#[test]
fn jitter_is_ten_per_cent_and_stays_below_the_maximum() {
    for (jitter, expected) in [(0.0, 30.0), (0.5, 31.5), (1.0, 33.0), (f64::NAN, 30.0)] {
        let (mut detector, now) = detector(50, 4);
        let decision = detector.failing(&0, FAILS, jitter, now);
        let (length, _) = ejected(decision).expect("it is ejected");
        assert!((length.as_secs_f64() - expected).abs() < 0.001);
    }
    let config = OutlierConfig::default()
        .with_base_ejection_time(Duration::from_secs(3_600))
        .expect("in range")
        .with_max_ejection_percent(100)
        .expect("in range");
    let (mut detector, now) = of(config, 3);
    let decision = detector.failing(&0, FAILS, 1.0, now);
    let (length, _) = ejected(decision).expect("it is ejected");
    assert_eq!(length, Duration::from_secs(270));
}

#[test]
fn only_proven_success_is_forgiven() {
    let (mut detector, mut now) = detector(50, 4);
    for _ in 0..2 {
        eject(&mut detector, 0, now);
        now += BASE * 2;
        assert_eq!(returned(&detector.due(now)), [0]);
    }
    now += BASE;
    assert_eq!(detector.due(now).len(), 1, "the time of the trial is over");
    // An hour without traffic changes nothing.
    for _ in 0..120 {
        now += BASE;
        assert!(detector.due(now).is_empty());
    }
    detector.succeeded(&0, 4);
    now += BASE;
    let _ = detector.due(now);
    assert_eq!(eject(&mut detector, 0, now).1, 3);
    // Successes of requests that were under way do not shorten an ejection.
    detector.succeeded(&0, 1_000);
    now += BASE * 3;
    assert_eq!(returned(&detector.due(now)), [0]);
    assert!(detector.proven(&0).is_some());
    for left in [2, 1, 0] {
        detector.succeeded(&0, 5);
        now += BASE;
        let _ = detector.due(now);
        assert_eq!(detector.recorded().count(), usize::from(left > 0));
    }
    assert_eq!(detector.deadline(), None);
}

#[test]
fn leaving_and_coming_back_does_not_end_an_ejection() {
    let (mut detector, now) = detector(50, 4);
    eject(&mut detector, 0, now);
    let _ = detector.resize(3, 3, |_| None, now);
    assert_eq!(detector.ejected(), 0, "who left does not use up the share");
    let _ = detector.resize(4, 4, |_| Some(true), now + BASE / 2);
    assert!(detector.is_ejected(&0));

    let _ = detector.resize(3, 3, |_| None, now);
    let much_later = now + Duration::from_secs(301);
    assert_eq!(detector.deadline(), Some(now + Duration::from_secs(300)));
    let events = detector.due(much_later);
    let forgotten = OutlierEvent::returned(0, ReturnCause::Forgotten, false);
    assert_eq!(events, [forgotten]);
    assert_eq!(detector.recorded().count(), 0);
}

#[test]
fn records_of_departed_ones_are_bounded() {
    let (mut detector, now) = detector(100, 3);
    for instance in 0..5_000 {
        let _ = detector.resize(3, 3, |id| (*id == instance).then_some(true), now);
        eject(&mut detector, instance, now);
    }
    assert!(detector.recorded().count() <= 1_025);
}

#![allow(
    clippy::disallowed_methods,
    reason = "tests need some time to start from"
)]

use std::time::{Duration, Instant};

use super::*;

const BASE: Duration = Duration::from_secs(30);

fn detector(percent: u32, total: usize) -> (OutlierDetector<usize>, Instant) {
    with_option(percent, total, false)
}

fn with_option(percent: u32, total: usize, one: bool) -> (OutlierDetector<usize>, Instant) {
    let config = OutlierConfig::default()
        .with_max_ejection_percent(percent)
        .expect("in range")
        .with_always_eject_one(one);
    let mut detector = OutlierDetector::new(config);
    let now = Instant::now();
    let _ = detector.resize(total, total, |_| Some(true), now);
    (detector, now)
}

fn eject_all(detector: &mut OutlierDetector<usize>, total: usize, now: Instant) -> usize {
    // Twice: a second report of an ejected one must not use up the share.
    for instance in (0..total).chain(0..total) {
        let _ = detector.failing(&instance, true, 0.0, now);
    }
    detector.ejected()
}

#[test]
fn the_share_is_exact_for_all_sizes_and_limits() {
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
                assert_eq!(
                    ejected, expected,
                    "{total} instances, {percent} %, one: {one}"
                );
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
    assert_eq!(
        detector.failing(&0, true, 0.0, now),
        EjectionVerdict::AtLimit
    );
    assert!(matches!(
        detector.failing(&1, false, 0.0, now),
        EjectionVerdict::Ejected { .. }
    ));
}

#[test]
fn a_shrinking_pool_restores_the_share() {
    let (mut detector, now) = detector(30, 10);
    for instance in 0..3 {
        let at = now + Duration::from_secs(instance as u64);
        assert!(matches!(
            detector.failing(&instance, true, 0.0, at),
            EjectionVerdict::Ejected { .. }
        ));
    }
    let returned = detector.resize(3, 3, |id| (*id < 3).then_some(true), now);
    assert_eq!(returned, [0, 1, 2]);
    assert_eq!(detector.ejected(), 0);

    let (mut detector, now) = with_option(100, 10, false);
    eject_all(&mut detector, 3, now);
    let returned = detector.resize(3, 3, |id| (*id < 3).then_some(true), now);
    assert_eq!(returned.len(), 1, "one must be left");
}

#[test]
fn ejections_get_longer_up_to_the_maximum_and_never_stop() {
    let (mut detector, mut now) = detector(50, 4);
    for round in 1..=20_u32 {
        let EjectionVerdict::Ejected { length, times } = detector.failing(&0, true, 0.0, now)
        else {
            panic!("round {round}");
        };
        assert_eq!(times, round);
        assert_eq!(length, (BASE * round).min(Duration::from_secs(300)));
        assert_eq!(
            detector.failing(&0, true, 0.0, now),
            EjectionVerdict::AlreadyEjected
        );
        assert!(
            detector
                .due(now + length - Duration::from_millis(1))
                .is_empty()
        );
        now += length;
        assert_eq!(detector.due(now), [0]);
    }
}

#[test]
fn jitter_is_ten_per_cent_and_stays_below_the_maximum() {
    for (jitter, expected) in [(0.0, 30.0), (0.5, 31.5), (1.0, 33.0), (f64::NAN, 30.0)] {
        let (mut detector, now) = detector(50, 4);
        let EjectionVerdict::Ejected { length, .. } = detector.failing(&0, true, jitter, now)
        else {
            panic!("ejected");
        };
        assert!((length.as_secs_f64() - expected).abs() < 0.001);
    }
    let config = OutlierConfig::default()
        .with_base_ejection_time(Duration::from_secs(3_600))
        .expect("in range")
        .with_max_ejection_percent(100)
        .expect("in range");
    let mut detector = OutlierDetector::new(config);
    let now = Instant::now();
    let _ = detector.resize(3, 3, |_| Some(true), now);
    let EjectionVerdict::Ejected { length, .. } = detector.failing(&0, true, 1.0, now) else {
        panic!("ejected");
    };
    assert_eq!(length, Duration::from_secs(270));
}

#[test]
fn only_proven_success_is_forgiven() {
    let (mut detector, mut now) = detector(50, 4);
    for _ in 0..2 {
        let _ = detector.failing(&0, true, 0.0, now);
        now += BASE * 2;
        assert_eq!(detector.due(now), [0]);
    }
    // An hour without traffic changes nothing.
    for _ in 0..120 {
        now += BASE;
        assert!(detector.due(now).is_empty());
    }
    detector.succeeded(&0, 4);
    now += BASE;
    let _ = detector.due(now);
    assert!(matches!(
        detector.failing(&0, true, 0.0, now),
        EjectionVerdict::Ejected { times: 3, .. }
    ));
    // Successes of requests that were under way do not shorten an ejection.
    detector.succeeded(&0, 1_000);
    now += BASE * 3;
    assert_eq!(detector.due(now), [0]);
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
    let _ = detector.failing(&0, true, 0.0, now);
    let _ = detector.resize(3, 3, |_| None, now);
    assert_eq!(detector.ejected(), 0, "who left does not use up the share");
    let _ = detector.resize(4, 4, |_| Some(true), now + BASE / 2);
    assert!(detector.is_ejected(&0));

    let _ = detector.resize(3, 3, |_| None, now);
    let much_later = now + Duration::from_secs(301);
    assert_eq!(detector.deadline(), Some(now + Duration::from_secs(300)));
    assert_eq!(detector.due(much_later), [0], "forgotten, and free");
    assert_eq!(detector.recorded().count(), 0);
}

#[test]
fn records_of_departed_ones_are_bounded() {
    let (mut detector, now) = detector(100, 3);
    for instance in 0..5_000 {
        let _ = detector.resize(3, 3, |id| (*id == instance).then_some(true), now);
        let _ = detector.failing(&instance, true, 0.0, now);
    }
    assert!(detector.recorded().count() <= 1_025);
}

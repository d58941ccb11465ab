//! Ejection by the share of requests that fail.

use super::*;

fn tally(key: usize, successes: u64, failures: u64) -> MemberTally<usize> {
    MemberTally {
        key,
        healthy: true,
        successes,
        failures,
    }
}

/// Ten instances, of which the first ones fail all of their requests.
fn ten(failing: usize) -> Vec<MemberTally<usize>> {
    let all = (0..10).map(|key| match key < failing {
        true => tally(key, 0, 100),
        false => tally(key, 100, 0),
    });
    all.collect()
}

fn half() -> OutlierConfig {
    let config = OutlierConfig::default().with_max_ejection_percent(50);
    config.expect("in range")
}

fn causes(events: &[OutlierEvent<usize>]) -> Vec<(usize, EjectionCause)> {
    let ejected = events.iter().filter_map(|event| match event.decision {
        OutlierDecision::Ejected { cause, .. } => Some((event.key, cause)),
        _ => None,
    });
    ejected.collect()
}

#[test]
fn nobody_is_judged_by_what_is_switched_off() {
    let (mut detector, now) = of(half(), 10);
    assert!(detector.sweep(&ten(5), || 0.0, now).is_empty());
    let with = half()
        .with_success_rate(SuccessRateConfig::default())
        .with_failure_percentage(FailurePercentageConfig::default());
    assert!(with.counts_rates());
    let without = with.with_success_rate(None).with_failure_percentage(None);
    assert_eq!(without, half());
    assert!(!without.counts_rates() && without.ejects());
    let off = OutlierConfig::off();
    assert!(!off.counts_rates() && !off.ejects());
    assert!(off.with_consecutive_connect_failures(1).ejects());
    assert!(off.with_success_rate(SuccessRateConfig::default()).ejects());
}

#[test]
fn both_rules_have_their_cause_and_the_limits_hold_for_them() {
    let rate = half().with_success_rate(SuccessRateConfig::default());
    let percentage = half().with_failure_percentage(FailurePercentageConfig::default());
    for (config, cause) in [
        (rate, EjectionCause::SuccessRate),
        (percentage, EjectionCause::FailurePercentage),
    ] {
        let (mut detector, now) = of(config, 10);
        let events = detector.sweep(&ten(1), || 0.0, now);
        assert_eq!(causes(&events), [(0, cause)]);
        assert_eq!(detector.sweep(&ten(1), || 0.0, now), [], "out already");
    }
    let (mut detector, now) = of(percentage, 10);
    let events = detector.sweep(&ten(7), || 0.0, now);
    assert_eq!((causes(&events).len(), detector.ejected()), (5, 5));
    let refused = OutlierDecision::Refused {
        cause: EjectionCause::FailurePercentage,
        why: Refusal::AtLimit,
    };
    let at_limit = events.iter().filter(|event| event.decision == refused);
    assert_eq!(at_limit.count(), 2);
}

#[test]
fn the_enforcement_percentage_is_a_chance() {
    for (percent, draw, is_out) in [
        (100, 0.999, true),
        (30, 0.299, true),
        (30, 0.3, false),
        (0, 0.0, false),
        (100, f64::NAN, false),
    ] {
        let percentage = FailurePercentageConfig::default().with_enforcement_percentage(percent);
        let config = half().with_failure_percentage(percentage.expect("in range"));
        let (mut detector, now) = of(config, 10);
        let events = detector.sweep(&ten(1), || draw, now);
        assert_eq!(detector.ejected(), usize::from(is_out), "{percent} %");
        let spared = OutlierDecision::Refused {
            cause: EjectionCause::FailurePercentage,
            why: Refusal::NotEnforced,
        };
        assert_eq!(events[0].decision == spared, !is_out);
    }
}

#[test]
fn the_ejection_time_grows_over_all_causes_and_those_on_trial_are_left_alone() {
    let config = half().with_failure_percentage(FailurePercentageConfig::default());
    let (mut detector, mut now) = of(config, 10);
    eject(&mut detector, 0, now);
    now += BASE;
    assert_eq!(returned(&detector.due(now)), [0]);
    assert!(detector.sweep(&ten(1), || 0.0, now).is_empty(), "on trial");
    assert!(detector.proven(&0).is_some());
    let events = detector.sweep(&ten(1), || 0.0, now);
    let twice = OutlierDecision::Ejected {
        cause: EjectionCause::FailurePercentage,
        length: BASE * 2,
        times: 2,
    };
    assert_eq!(events[0].decision, twice);
}

#[test]
fn settings_out_of_their_range_are_refused() {
    let rate = SuccessRateConfig::default;
    let percentage = FailurePercentageConfig::default;
    assert!(rate().with_stdev_factor(100_001).is_err());
    assert!(percentage().with_threshold(0).is_err());
    assert!(percentage().with_threshold(101).is_err());
    assert!(rate().with_minimum_hosts(0).is_err());
    assert!(percentage().with_request_volume(0).is_err());
    let error = rate().with_enforcement_percentage(101);
    let error = error.expect_err("more than all").to_string();
    let told = "success_rate.enforcement_percentage is 101, allowed is 0..=100";
    assert_eq!(error, told);
    let config = OutlierConfig::default;
    assert!(config().with_interval(Duration::ZERO).is_err());
    assert!(config().with_trial_requests(1_001).is_err());
    assert!(config().with_trial_successes(0).is_err());
    assert!(config().with_probe_interval(Duration::ZERO).is_err());
    assert!(config().with_probe_timeout(Duration::ZERO).is_err());
}

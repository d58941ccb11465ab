//! Trials and probes.

use super::*;

const UNREACHABLE: Suspicion = Suspicion {
    cause: EjectionCause::ConsecutiveConnectFailures,
    healthy: true,
    unreachable: true,
};

fn on_trial() -> (OutlierDetector<usize>, Instant) {
    let (mut detector, now) = detector(50, 4);
    eject(&mut detector, 0, now);
    let events = detector.due(now + BASE);
    let back = OutlierEvent::returned(0, ReturnCause::TimeOver, true);
    assert_eq!(events, [back]);
    assert_eq!(detector.state(&0), Some(EjectionState::OnTrial));
    (detector, now + BASE)
}

#[test]
fn a_failure_on_trial_ejects_again_and_for_longer() {
    let (mut detector, now) = on_trial();
    let failed = Suspicion {
        cause: EjectionCause::TrialFailed,
        ..FAILS
    };
    let decision = detector.failing(&0, failed, 0.0, now);
    assert_eq!(ejected(decision), Some((BASE * 2, 2)));
    assert_eq!(detector.proven(&0), None, "too late");
}

#[test]
fn a_trial_ends_with_proof_or_with_its_time() {
    let (mut detector, _) = on_trial();
    let over = |proven| Some(OutlierDecision::TrialOver { proven });
    assert_eq!(detector.proven(&0), over(true));
    assert_eq!(detector.proven(&0), None);
    assert_eq!(detector.state(&0), Some(EjectionState::Back));
    assert_eq!(detector.proven(&1), None, "nothing is known of it");

    let (mut detector, now) = on_trial();
    assert_eq!(detector.deadline(), Some(now + BASE));
    let events = detector.due(now + BASE);
    assert_eq!(events.first().map(|event| event.decision), over(false));
    assert_eq!(eject(&mut detector, 0, now + BASE).1, 2, "not forgiven");
}

#[test]
fn without_trials_the_traffic_is_back_at_once() {
    let config = OutlierConfig::default().with_max_ejection_percent(50);
    let config = config.expect("in range").with_trial_requests(0);
    let (mut detector, now) = of(config.expect("in range"), 4);
    eject(&mut detector, 0, now);
    let back = OutlierEvent::returned(0, ReturnCause::TimeOver, false);
    assert_eq!(detector.due(now + BASE), [back]);
    assert_eq!(detector.state(&0), Some(EjectionState::Back));
}

#[test]
fn who_is_on_trial_is_not_the_usable_one_that_must_be_left() {
    let (mut detector, now) = detector(100, 2);
    eject(&mut detector, 0, now);
    let now = now + BASE;
    assert_eq!(returned(&detector.due(now)), [0]);
    assert_eq!(detector.failing(&1, FAILS, 0.0, now), AT_LIMIT);
    assert!(detector.proven(&0).is_some());
    eject(&mut detector, 1, now);
}

#[test]
fn a_trial_that_failed_while_nobody_may_go_begins_anew() {
    let (mut detector, now) = detector(25, 4);
    eject(&mut detector, 0, now);
    let now = now + BASE;
    assert_eq!(returned(&detector.due(now)), [0]);
    eject(&mut detector, 1, now);
    let late = now + BASE - Duration::from_secs(1);
    assert_eq!(detector.failing(&0, FAILS, 0.0, late), AT_LIMIT);
    let over = detector.due(now + BASE);
    assert_eq!(returned(&over), [1], "the first one is still on trial");
    assert_eq!(detector.state(&0), Some(EjectionState::OnTrial));
    assert_eq!(detector.due(late + BASE)[0].key, 0);
    assert_eq!(detector.state(&0), Some(EjectionState::Back));
}

#[test]
fn a_probe_brings_back_early_and_only_who_could_not_be_reached() {
    let (mut detector, now) = detector(50, 6);
    assert!(ejected(detector.failing(&0, UNREACHABLE, 0.0, now)).is_some());
    eject(&mut detector, 1, now);
    assert_eq!(detector.to_probe().collect::<Vec<_>>(), [&0]);
    for (key, serves) in [(0, false), (1, true), (2, true)] {
        assert_eq!(detector.probed(&key, serves, now), None, "{key}");
    }
    let back = OutlierDecision::Returned {
        why: ReturnCause::ProbePassed,
        on_trial: true,
    };
    assert_eq!(detector.probed(&0, true, now), Some(back));
    assert_eq!(detector.state(&0), Some(EjectionState::OnTrial));
    assert_eq!(detector.probed(&0, true, now), None, "back already");
    assert_eq!(detector.to_probe().next(), None);
    // The way back by a probe forgives nothing.
    let again = detector.failing(&0, UNREACHABLE, 0.0, now);
    assert_eq!(ejected(again), Some((BASE * 2, 2)));
}

#[test]
fn who_fails_its_probe_stays_out_past_its_time() {
    let (mut detector, now) = detector(50, 4);
    assert!(ejected(detector.failing(&0, UNREACHABLE, 0.0, now)).is_some());
    assert_eq!(detector.probed(&0, false, now), None);
    let mut at = now;
    for _ in 0..1_000 {
        at = detector.deadline().expect("it is out").max(at);
        assert_eq!(detector.due(at), []);
        assert!(detector.deadline() > Some(at), "the deadline moves on");
    }
    assert!(at > now + Duration::from_secs(900));
    assert!(detector.probed(&0, true, at).is_some());
    assert_eq!(detector.ejected(), 0);
}

#[test]
fn leaving_ends_neither_a_trial_nor_the_probing() {
    let (mut detector, now) = on_trial();
    let _ = detector.resize(3, 3, |_| None, now);
    assert_eq!(detector.recorded_members().count(), 0);
    let _ = detector.resize(4, 4, |_| Some(true), now);
    let members: Vec<_> = detector.recorded_members().collect();
    assert_eq!(members, [(&0, EjectionState::OnTrial)]);

    assert!(ejected(detector.failing(&1, UNREACHABLE, 0.0, now)).is_some());
    let _ = detector.resize(3, 3, |_| None, now);
    assert_eq!(detector.to_probe().next(), None, "there is nobody to ask");
    assert_eq!(detector.probed(&1, true, now), None);
    let _ = detector.resize(4, 4, |_| Some(true), now);
    assert_eq!(detector.to_probe().next(), Some(&1));
}

use ringfence_core::{EjectionCause, EjectionState, Instance, OutlierConfig, Snapshot};
use tokio::sync::mpsc;

use super::*;
use crate::Candidate;

/// By failures in a row alone.
fn table(threshold: u32) -> (NodeTable, mpsc::Receiver<Report>, Arc<NodeTotals>) {
    with(OutlierConfig::off().with_consecutive_failures(threshold))
}

fn with(config: OutlierConfig) -> (NodeTable, mpsc::Receiver<Report>, Arc<NodeTotals>) {
    let (sender, receiver) = report_channel(config);
    let totals = Arc::<NodeTotals>::default();
    (
        NodeTable::new(sender, Arc::clone(&totals), NodeIndex::default()),
        receiver,
        totals,
    )
}

fn snapshot(instances: &[(&str, &str)]) -> Snapshot {
    instances
        .iter()
        .map(|(id, address)| Instance::builder(id, address).build().expect("valid"))
        .collect()
}

fn begin(seat: &Arc<Seat>) -> InFlight {
    InFlight::begin(Candidate::new(Arc::clone(seat)))
}

fn fail(seat: &Arc<Seat>, times: usize) {
    fail_by(seat, FailureKind::Connect, times);
}

fn fail_by(seat: &Arc<Seat>, kind: FailureKind, times: usize) {
    for _ in 0..times {
        begin(seat).report(Outcome::Failure(kind));
    }
}

fn told(receiver: &mut mpsc::Receiver<Report>) -> Option<News> {
    receiver.try_recv().ok().map(|report| report.news)
}

#[test]
fn a_returning_instance_finds_its_running_attempts() {
    let (mut table, _receiver, totals) = table(5);
    let full = snapshot(&[("a", "10.0.0.1:80"), ("b", "10.0.0.2:80")]);
    let first = table.seat(&full, &[]);
    let running = begin(&first[0]);
    let without = table.seat(&snapshot(&[("b", "10.0.0.2:80")]), &first);
    drop(first);
    let back = table.seat(&full, &without);
    assert_eq!(back[0].node.in_flight(), 1);
    drop(running);
    assert_eq!(back[0].node.in_flight(), 0);
    assert_eq!(totals.alive(), 2);
    drop((without, back));
    assert_eq!(totals.alive(), 0);
}

#[test]
fn a_late_decrement_never_hits_a_new_node() {
    let (mut table, _receiver, _) = table(5);
    let first = table.seat(&snapshot(&[("a", "10.0.0.1:80")]), &[]);
    let running = begin(&first[0]);
    // The same id elsewhere is another server.
    let moved = table.seat(&snapshot(&[("a", "10.0.0.9:80")]), &first);
    drop(first);
    drop(running);
    assert_eq!(moved[0].node.in_flight(), 0);
}

#[test]
fn unchanged_instances_keep_their_seat_and_changed_ones_their_node() {
    let (mut table, _receiver, _) = table(5);
    let before = table.seat(&snapshot(&[("a", "h:1"), ("b", "h:2"), ("c", "h:3")]), &[]);
    let heavy = Instance::builder("c", "h:3").weight(7).build();
    let after: Snapshot = [
        Instance::builder("b", "h:2").build(),
        heavy,
        Instance::builder("d", "h:4").build(),
    ]
    .into_iter()
    .map(|instance| instance.expect("valid"))
    .collect();
    let after = table.seat(&after, &before);
    assert!(Arc::ptr_eq(&before[1], &after[0]));
    assert!(!Arc::ptr_eq(&before[2], &after[1]));
    assert!(Arc::ptr_eq(&before[2].node, &after[1].node));
}

#[test]
fn failures_in_a_row_make_one_report() {
    let (mut table, mut receiver, _) = table(5);
    let seats = table.seat(&snapshot(&[("a", "h:1")]), &[]);
    fail(&seats[0], 4);
    begin(&seats[0]).report(Outcome::Success);
    fail(&seats[0], 4);
    begin(&seats[0]).report(Outcome::Neutral);
    drop(begin(&seats[0]));
    assert!(receiver.try_recv().is_err());
    fail(&seats[0], 64);
    assert!(receiver.try_recv().is_ok());
    assert!(receiver.try_recv().is_err());
    seats[0].node.report_handled();
    fail(&seats[0], 1);
    assert!(
        receiver.try_recv().is_ok(),
        "the threshold was passed long ago"
    );
}

#[test]
fn only_the_first_report_counts() {
    let (mut table, mut receiver, _) = table(1);
    let seats = table.seat(&snapshot(&[("a", "h:1")]), &[]);
    let mut attempt = begin(&seats[0]);
    attempt.report(Outcome::Success);
    attempt.report(Outcome::Failure(FailureKind::Reset));
    assert!(receiver.try_recv().is_err());
}

#[test]
fn results_from_before_an_ejection_or_its_end_change_nothing() {
    let (mut table, mut receiver, _) = table(1);
    let seats = table.seat(&snapshot(&[("a", "h:1")]), &[]);
    let node = &seats[0].node;
    let (mut late, mut later) = (begin(&seats[0]), begin(&seats[0]));
    assert!(node.set_state(Some(EjectionState::Ejected)));
    assert!(!node.set_state(Some(EjectionState::Ejected)));
    late.report(Outcome::Failure(FailureKind::Timeout));
    let mut during = begin(&seats[0]);
    assert!(node.set_state(Some(EjectionState::Back)));
    later.report(Outcome::Failure(FailureKind::Timeout));
    during.report(Outcome::Failure(FailureKind::Timeout));
    assert!(receiver.try_recv().is_err());
    assert_eq!(node.take_successes(), 0);
    begin(&seats[0]).report(Outcome::Success);
    assert_eq!(node.take_successes(), 1);
    fail(&seats[0], 1);
    assert!(receiver.try_recv().is_ok());
}

#[test]
fn without_a_threshold_nothing_is_reported() {
    let (mut table, mut receiver, _) = table(0);
    let seats = table.seat(&snapshot(&[("a", "h:1")]), &[]);
    fail(&seats[0], 100);
    assert!(receiver.try_recv().is_err());
}

#[test]
fn attachments_live_as_long_as_the_last_attempt() {
    let (mut table, _receiver, _) = table(5);
    let seats = table.seat(&snapshot(&[("a", "h:1")]), &[]);
    let key: AttachmentKey<Arc<str>> = AttachmentKey::unique();
    let connection = seats[0].node.attachment(&key, || "connection".into());
    let alive = Arc::downgrade(&connection);
    drop(connection);
    let running = begin(&seats[0]);
    drop(table.seat(&Snapshot::empty(), &seats));
    drop(seats);
    assert!(alive.upgrade().is_some());
    drop(running);
    assert!(alive.upgrade().is_none());
}

const STREAK: News = News::Failing {
    cause: EjectionCause::ConsecutiveFailures,
    unreachable: false,
};

const CONNECTS: News = News::Failing {
    cause: EjectionCause::ConsecutiveConnectFailures,
    unreachable: true,
};

#[test]
fn failed_connections_have_a_count_of_their_own() {
    let (mut table, mut receiver, _) = with(OutlierConfig::default());
    let seats = table.seat(&snapshot(&[("a", "h:1")]), &[]);
    let (seat, node) = (&seats[0], &seats[0].node);
    let mut after = |outcomes: &[Outcome]| {
        begin(seat).report(Outcome::Success);
        for outcome in outcomes {
            begin(seat).report(*outcome);
        }
        let news = told(&mut receiver);
        node.report_handled();
        news
    };
    let connect = Outcome::Failure(FailureKind::Connect);
    let timeout = Outcome::Failure(FailureKind::Timeout);
    let status = Outcome::Failure(FailureKind::Status);
    assert_eq!(after(&[connect, connect]), None);
    assert_eq!(after(&[connect, connect, connect]), Some(CONNECTS));
    assert_eq!(after(&[connect, connect, Outcome::Success, connect]), None);
    assert_eq!(
        after(&[connect, connect, status, connect]),
        None,
        "an answer"
    );
    assert_eq!(
        after(&[status, connect, connect, status, connect]),
        Some(STREAK)
    );
    let reached = News::Failing {
        cause: EjectionCause::ConsecutiveConnectFailures,
        unreachable: false,
    };
    assert_eq!(after(&[connect, connect, timeout, connect]), Some(reached));
    assert_eq!(
        after(&[connect, connect, Outcome::Neutral, connect]),
        Some(CONNECTS)
    );
}

#[test]
fn zero_switches_the_count_of_failed_connections_off() {
    let config = OutlierConfig::off().with_consecutive_failures(10);
    let (mut table, mut receiver, _) = with(config);
    let seats = table.seat(&snapshot(&[("a", "h:1")]), &[]);
    fail(&seats[0], 9);
    assert_eq!(told(&mut receiver), None);
    fail(&seats[0], 1);
    let unreachable = News::Failing {
        cause: EjectionCause::ConsecutiveFailures,
        unreachable: true,
    };
    assert_eq!(told(&mut receiver), Some(unreachable));
}

/// A single failure on trial is enough, and so are a few successes.
#[test]
fn the_news_of_a_trial() {
    for (kind, unreachable) in [
        (FailureKind::Connect, true),
        (FailureKind::Reset, true),
        (FailureKind::Timeout, false),
        (FailureKind::Status, false),
    ] {
        let (mut table, mut receiver, totals) = table(5);
        let seats = table.seat(&snapshot(&[("a", "h:1")]), &[]);
        let node = &seats[0].node;
        let before = begin(&seats[0]);
        assert!(node.set_state(Some(EjectionState::Ejected)));
        assert!(!totals.is_any_on_trial());
        assert!(node.set_state(Some(EjectionState::OnTrial)));
        assert!(totals.is_any_on_trial() && node.is_on_trial());
        let mut before = before;
        before.report(Outcome::Failure(kind));
        assert_eq!(told(&mut receiver), None, "it is older than the trial");

        begin(&seats[0]).report(Outcome::Success);
        begin(&seats[0]).report(Outcome::Success);
        fail_by(&seats[0], kind, 1);
        let cause = EjectionCause::TrialFailed;
        let failed = News::Failing { cause, unreachable };
        assert_eq!(told(&mut receiver), Some(failed));
        node.report_handled();
        begin(&seats[0]).report(Outcome::Success);
        assert_eq!(told(&mut receiver), None, "the count began anew");
        begin(&seats[0]).report(Outcome::Success);
        begin(&seats[0]).report(Outcome::Neutral);
        drop(begin(&seats[0]));
        begin(&seats[0]).report(Outcome::Success);
        assert_eq!(told(&mut receiver), Some(News::Proven));
        drop((before, seats));
        assert!(!totals.is_any_on_trial(), "gone with its node");
    }
}

#[test]
fn rates_are_counted_only_where_they_are_judged() {
    let judged = OutlierConfig::off()
        .with_failure_percentage(ringfence_core::FailurePercentageConfig::default());
    for (config, expected) in [(judged, (2, 1)), (OutlierConfig::default(), (0, 0))] {
        let (mut table, _receiver, _) = with(config);
        let seats = table.seat(&snapshot(&[("a", "h:1")]), &[]);
        begin(&seats[0]).report(Outcome::Success);
        begin(&seats[0]).report(Outcome::Success);
        begin(&seats[0]).report(Outcome::Neutral);
        drop(begin(&seats[0]));
        fail(&seats[0], 1);
        assert_eq!(seats[0].node.take_tally(), expected);
        assert_eq!(seats[0].node.take_tally(), (0, 0));
        fail(&seats[0], 1);
        seats[0].node.set_state(Some(EjectionState::Ejected));
        assert_eq!(seats[0].node.take_tally(), (0, 0), "it starts afresh");
    }
}

/// A new node of an instance that is on trial or not forgiven yet goes on where the old one was.
#[test]
fn a_new_node_takes_over_what_is_remembered() {
    for (state, on_trial) in [(EjectionState::OnTrial, true), (EjectionState::Back, false)] {
        let (mut table, _receiver, _) = table(5);
        let seats = table.seat(&snapshot(&[("a", "h:1")]), &[]);
        let node = &seats[0].node;
        assert!(!node.set_state(Some(state)), "it is not ejected");
        assert!(!node.set_state(Some(state)));
        assert_eq!(node.is_on_trial(), on_trial);
        begin(&seats[0]).report(Outcome::Success);
        assert_eq!(node.take_successes(), 1, "they count for forgiveness");
    }
}

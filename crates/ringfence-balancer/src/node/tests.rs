use ringfence_core::Snapshot;
use tokio::sync::mpsc;

use super::*;

fn table(threshold: u32) -> (NodeTable, mpsc::Receiver<NodeIdentity>, Arc<NodeTotals>) {
    let (sender, receiver) = failure_channel(threshold);
    let totals = Arc::<NodeTotals>::default();
    (
        NodeTable::new(sender, Arc::clone(&totals)),
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

fn fail(seat: &Arc<Seat>, times: usize) {
    for _ in 0..times {
        seat.begin().report(Outcome::Failure(FailureKind::Connect));
    }
}

#[test]
fn a_returning_instance_finds_its_running_attempts() {
    let (mut table, _receiver, totals) = table(5);
    let full = snapshot(&[("a", "10.0.0.1:80"), ("b", "10.0.0.2:80")]);
    let first = table.seat(&full, &[]);
    let running = first[0].begin();
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
    let running = first[0].begin();
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
    seats[0].begin().report(Outcome::Success);
    fail(&seats[0], 4);
    seats[0].begin().report(Outcome::Neutral);
    drop(seats[0].begin());
    assert!(receiver.try_recv().is_err());
    fail(&seats[0], 64);
    assert!(receiver.try_recv().is_ok());
    assert!(receiver.try_recv().is_err());
    seats[0].node.failure_handled();
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
    let mut attempt = seats[0].begin();
    attempt.report(Outcome::Success);
    attempt.report(Outcome::Failure(FailureKind::Reset));
    assert!(receiver.try_recv().is_err());
}

#[test]
fn results_from_before_an_ejection_or_its_end_change_nothing() {
    let (mut table, mut receiver, _) = table(1);
    let seats = table.seat(&snapshot(&[("a", "h:1")]), &[]);
    let node = &seats[0].node;
    let (mut late, mut later) = (seats[0].begin(), seats[0].begin());
    assert!(node.set_ejected(true));
    assert!(!node.set_ejected(true));
    late.report(Outcome::Failure(FailureKind::Timeout));
    let mut during = seats[0].begin();
    assert!(node.set_ejected(false));
    later.report(Outcome::Failure(FailureKind::Timeout));
    during.report(Outcome::Failure(FailureKind::Timeout));
    assert!(receiver.try_recv().is_err());
    assert_eq!(node.take_successes(), 0);
    seats[0].begin().report(Outcome::Success);
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
    let running = seats[0].begin();
    drop(table.seat(&Snapshot::empty(), &seats));
    drop(seats);
    assert!(alive.upgrade().is_some());
    drop(running);
    assert!(alive.upgrade().is_none());
}

use std::{sync::mpsc, task::Waker};

use tokio::runtime::{Builder, Runtime};

use super::*;
use crate::{Provenance, ServiceKey, supervisor::ledger::Ledger};

/// A runtime whose only thread for file jobs is busy until the sender is dropped, as on a disk that hangs.
fn hung() -> (Runtime, mpsc::Sender<()>) {
    let mut builder = Builder::new_current_thread();
    let runtime = builder.max_blocking_threads(1).build().expect("a runtime");
    let (hang, until) = mpsc::channel();
    runtime.spawn_blocking(move || until.recv());
    (runtime, hang)
}

fn bridge(now: Instant) -> Bridge {
    let config = DiskSnapshots::new("no-such-folder");
    let store = Store::new(&config, "test".to_owned(), ServiceKey::new("order"));
    Bridge::new(Arc::new(store), &config, now)
}

fn nothing() -> (Update, Reading) {
    let reading = Reading::Fetch(Ledger::new(&crate::WatchConfig::default()).mark());
    (Update::instances([], Provenance::live("test")), reading)
}

fn one() -> Update {
    let instance = ringfence_core::Instance::builder("a", "10.0.0.1:80").build();
    Update::instances(instance, Provenance::live("test"))
}

#[test]
fn a_disk_that_hangs_holds_up_an_empty_state_for_a_second_and_no_other() {
    let (runtime, _hang) = hung();
    let (_guard, now) = (runtime.enter(), Instant::now());
    let (empty, reading) = nothing();
    let mut bridge = bridge(now);
    let advice = bridge.on_live(&empty, reading, now);
    assert!(matches!(advice, Advice::Wait));
    assert_eq!(bridge.deadline(), Some(now + EMPTY_WAITS));
    let early = now + EMPTY_WAITS - Duration::from_millis(1);
    assert!(bridge.take_empty(early).is_none());
    let (taken, _) = bridge.take_empty(now + EMPTY_WAITS).expect("time is over");
    assert_eq!(taken, empty);
    assert!(bridge.take_empty(now + EMPTY_WAITS).is_none(), "only once");
    let advice = bridge.on_live(&empty, reading, now + EMPTY_WAITS);
    assert!(matches!(advice, Advice::Judge));
}

#[test]
fn instances_overtake_the_empty_state_that_waits() {
    let (runtime, _hang) = hung();
    let (_guard, now) = (runtime.enter(), Instant::now());
    let (empty, reading) = nothing();
    let mut bridge = bridge(now);
    bridge.on_live(&empty, reading, now);
    assert!(matches!(
        bridge.on_live(&one(), reading, now),
        Advice::Judge
    ));
    assert!(bridge.take_empty(now + EMPTY_WAITS).is_none());
    assert_eq!(bridge.deadline(), None);
}

/// The runtime ends while the supervisor is still polled.
#[test]
fn a_read_that_never_ran_is_an_ignored_copy() {
    let runtime = Builder::new_current_thread().build().expect("a runtime");
    let handle = runtime.handle().clone();
    drop(runtime);
    let (_guard, now) = (handle.enter(), Instant::now());
    let mut bridge = bridge(now);
    let mut cx = Context::from_waker(Waker::noop());
    let error = bridge.poll_read(&mut cx, now).expect_err("never ran");
    assert!(matches!(error, Unfit::Io(_)), "{error}");
    assert_eq!(bridge.deadline(), None);
}

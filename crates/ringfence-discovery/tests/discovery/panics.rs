//! Sources with faults in them.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use ringfence_discovery::{
    BoxFuture, BoxStream, Discovery, DiscoveryError, ErrorKind, MemoryRegistry, ServiceKey,
    Supervisor, Update, WatchConfig,
};

use crate::script::{Fetch, Script, Step, during, instance, list, next_change, secs};

#[tokio::test(start_paused = true)]
async fn a_watch_that_panics_is_watched_anew() {
    let script = Script::new([
        vec![
            Step::Yield(Ok(list("ab"))),
            Step::Wait(secs(1)),
            Step::Panic,
        ],
        vec![Step::Panic],
        vec![Step::Wait(secs(1)), Step::Yield(Ok(list("abc")))],
    ]);
    let mut supervisor = script.supervise(WatchConfig::default().without_resync());
    assert_eq!(next_change(&mut supervisor).await, "ab");
    assert_eq!(next_change(&mut supervisor).await, "abc");
    let counters = supervisor.status().counters;
    assert_eq!((counters.watch_errors, counters.watch_restarts), (2, 2));
    assert_eq!((script.opened(), script.alive()), (3, 1));
}

#[tokio::test(start_paused = true)]
async fn it_is_an_error_with_the_text_of_the_panic() {
    let script = Script::default().otherwise(vec![Step::Panic]);
    script.fetch(Fetch::Panic);
    let mut supervisor = script.supervise(WatchConfig::default());
    during(&mut supervisor, secs(60)).await;
    let status = supervisor.status();
    let (watch, fetch) = (status.watch_error.as_ref(), status.fetch_error.as_ref());
    let (watch, fetch) = (watch.expect("failed"), fetch.expect("failed"));
    assert_eq!(watch.kind(), ErrorKind::Protocol);
    assert_eq!(
        (watch.message(), fetch.message()),
        (
            "the source panicked: a fault of the watch",
            "the source panicked: a fault of the read"
        )
    );
    assert!(script.opened() < 100, "{} watches", script.opened());
    assert!(script.fetches() < 100, "{} reads", script.fetches());
}

/// Panics before there is a stream or a future, the first three times.
#[derive(Debug, Default)]
struct Rash {
    registry: MemoryRegistry,
    calls: AtomicUsize,
}

impl Rash {
    fn think(&self) {
        assert!(self.calls.fetch_add(1, Ordering::Relaxed) >= 3, "too rash");
    }
}

impl Discovery for Rash {
    fn name(&self) -> &str {
        "rash"
    }

    fn watch(&self, service: &ServiceKey) -> BoxStream<'static, Result<Update, DiscoveryError>> {
        self.think();
        self.registry.watch(service)
    }

    fn fetch(&self, service: &ServiceKey) -> BoxFuture<'static, Result<Update, DiscoveryError>> {
        self.think();
        self.registry.fetch(service)
    }
}

#[tokio::test(start_paused = true)]
async fn a_source_that_panics_when_asked_is_asked_again() {
    let source = Rash::default();
    source.registry.register("order", instance("a"));
    let config = WatchConfig::default().with_seed(7);
    let mut supervisor = Supervisor::new(Arc::new(source), "order".into(), config);
    assert_eq!(next_change(&mut supervisor).await, "a");
}

use std::{error::Error, time::Duration};

use ringfence_balancer::{
    Balancer, BalancerConfig, BuildError, OutlierConfig, PickError, PickRequest,
};
use ringfence_discovery::{
    BoxFuture, BoxStream, Discovery, DiscoveryError, ErrorKind, Provenance, ServiceKey, Update,
    unfold,
};
use ringfence_testkit::ScriptedDiscovery;
use tokio::runtime::{Builder, Handle, Runtime};

use crate::support::*;

fn build(source: &ScriptedDiscovery) -> Balancer {
    Balancer::builder(source.clone(), service())
        .build()
        .expect("in a runtime")
}

fn runtimes() -> [Runtime; 2] {
    [Builder::new_current_thread(), Builder::new_multi_thread()].map(|mut builder| {
        builder
            .worker_threads(2)
            .enable_time()
            .build()
            .expect("a runtime")
    })
}

fn tasks() -> usize {
    Handle::current().metrics().num_alive_tasks()
}

/// Real time, since a multi-threaded runtime has no paused clock; and much of it, since the machine may be busy.
async fn eventually(what: &str, done: impl Fn() -> bool) {
    let start = std::time::Instant::now();
    while !done() {
        assert!(start.elapsed() < Duration::from_secs(20), "never: {what}");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// Tasks, watches and sockets end with their owner (B40).
#[test]
fn a_thousand_balancers_leave_nothing_behind() {
    for runtime in runtimes() {
        runtime.block_on(async {
            let source = ScriptedDiscovery::new();
            source.push_instances([instance(1)]);
            let before = tasks();
            let balancers: Vec<_> = (0..1_000)
                .map(|n| {
                    let service = ServiceKey::new(format!("service-{n}"));
                    let builder = Balancer::builder(source.clone(), service);
                    builder.build().expect("in a runtime")
                })
                .collect();
            for balancer in &balancers {
                balancer.ready().await.expect("ready");
            }
            assert_eq!((tasks(), source.live_streams()), (before + 1_000, 1_000));
            let clone = balancers[0].clone();
            drop(balancers);
            eventually("all but one end", || tasks() == before + 1).await;
            assert!(clone.pick(&PickRequest::new()).is_ok());
            drop(clone);
            let gone = || tasks() == before && source.live_streams() == 0;
            eventually("the last one ends", gone).await;
        });
    }
}

#[test]
fn it_ends_when_dropped_in_the_middle_of_a_backoff_or_a_long_poll() {
    for runtime in runtimes() {
        runtime.block_on(async {
            let before = tasks();
            let (away, silent) = (ScriptedDiscovery::new(), ScriptedDiscovery::new());
            away.go_down(ErrorKind::Unavailable);
            let (backing_off, polling) = (build(&away), build(&silent));
            eventually("both wait", || {
                away.watches() > 0 && silent.live_streams() > 0
            })
            .await;
            drop((backing_off, polling));
            let gone = || tasks() == before && away.live_streams() + silent.live_streams() == 0;
            eventually("both end", gone).await;
            assert_eq!(silent.live_fetches(), 0);
        });
    }
}

#[test]
fn it_can_be_dropped_outside_of_a_runtime_and_after_it() {
    for runtime in runtimes() {
        let source = ScriptedDiscovery::new();
        source.push_instances([instance(1)]);
        let start = || {
            runtime.block_on(async {
                let balancer = build(&source);
                balancer.ready().await.expect("ready");
                balancer
            })
        };
        let (outside, after) = (start(), start());
        let attempt = after
            .pick(&PickRequest::new())
            .expect("one")
            .first()
            .begin();
        drop(outside);
        runtime.block_on(eventually("it ends", || source.live_streams() == 1));
        drop(runtime);
        assert_eq!(source.live_streams(), 0);
        assert!(
            after.pick(&PickRequest::new()).is_ok(),
            "the view is still there"
        );
        drop((after, attempt));
    }
}

#[test]
fn building_needs_a_runtime() {
    let builder = Balancer::builder(ScriptedDiscovery::new(), "order");
    assert_eq!(builder.build().map(|_| ()), Err(BuildError::NoRuntime));
}

#[tokio::test(start_paused = true)]
async fn callers_wait_for_the_first_view_together_and_independently() {
    let source = ScriptedDiscovery::new();
    let balancer = build(&source);
    assert!(matches!(
        balancer.pick(&PickRequest::new()),
        Err(PickError::NotReady { .. })
    ));
    let mut callers: Vec<_> = (0..16)
        .map(|_| {
            let balancer = balancer.clone();
            tokio::spawn(async move { balancer.ready().await })
        })
        .collect();
    tokio::time::sleep(Duration::from_secs(1)).await;
    callers.remove(0).abort();
    tokio::time::sleep(Duration::from_secs(1)).await;
    source.push_instances([instance(1)]);
    let start = tokio::time::Instant::now();
    for caller in callers {
        caller.await.expect("no panic").expect("ready");
    }
    assert!(start.elapsed() < Duration::from_millis(100));
    assert_eq!(source.watches(), 1, "one watch for all");
}

#[tokio::test(start_paused = true)]
async fn waiting_ends_with_the_reason() {
    let source = ScriptedDiscovery::new();
    source.go_down(ErrorKind::Unauthorized);
    let balancer = build(&source);
    let start = tokio::time::Instant::now();
    let error = balancer.ready().await.expect_err("the registry is away");
    assert_eq!(start.elapsed(), Duration::from_secs(5));
    let PickError::NotReady { waited, .. } = &error else {
        panic!("{error}");
    };
    assert_eq!(*waited, Duration::from_secs(5));
    assert!(error.source().is_some());
    let text = error.to_string();
    assert!(
        text.contains("order") && text.contains("scripted"),
        "{text}"
    );
    source.go_up();
    source.push_instances([instance(1)]);
    tokio::time::sleep(Duration::from_secs(31)).await;
    balancer.ready().await.expect("it recovers by itself");
}

/// A shutdown has a limit, may be asked for twice, and ends nothing that runs (B58).
#[tokio::test(start_paused = true)]
async fn a_shutdown_refuses_new_picks_and_lets_running_ones_finish() {
    let before = tasks();
    let source = ScriptedDiscovery::new();
    source.push_instances([instance(1)]);
    let balancer = build(&source);
    balancer.ready().await.expect("ready");
    let mut running = begin(&balancer, "k");
    let other = balancer.clone();
    tokio::join!(balancer.shutdown(), other.shutdown(), balancer.shutdown());
    assert_eq!((tasks(), source.live_streams()), (before, 0));
    let request = PickRequest::new().with_key("k");
    for error in [
        balancer.pick(&request).map(|_| ()).expect_err("shut down"),
        balancer
            .owners(&request, 1)
            .map(|_| ())
            .expect_err("shut down"),
        other.ready().await.expect_err("shut down"),
    ] {
        assert!(matches!(error, PickError::ShutDown { .. }), "{error}");
    }
    assert_eq!(balancer.status().nodes, 1, "the running attempt holds it");
    running.report(ringfence_balancer::Outcome::Success);
    drop(running);
    assert_eq!(balancer.status().nodes, 0);
    balancer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_waits_for_what_runs_up_to_its_limit() {
    let limit = Duration::from_secs(10);
    for (lasts, left) in [(3, 0), (30, 1)] {
        let source = ScriptedDiscovery::new();
        source.push_instances([instance(1), instance(2)]);
        let balancer = build(&source);
        balancer.ready().await.expect("ready");
        let running = begin(&balancer, "k");
        let request = PickRequest::new().with_key("k");
        let mut presence = balancer.pick(&request).expect("one").first().presence();
        let ends = tokio::spawn(async move {
            tokio::time::sleep(Duration::from_secs(lasts)).await;
            drop(running);
        });
        let cut = tokio::spawn(async move {
            let cut = presence.away_for(Duration::from_secs(3_600));
            tokio::time::timeout(2 * limit, cut).await.is_ok()
        });
        let start = tokio::time::Instant::now();
        assert_eq!(balancer.shutdown_within(limit).await, left);
        let took = start.elapsed();
        let expected = Duration::from_secs(lasts).min(limit);
        assert!(
            took >= expected && took < expected + Duration::from_millis(10),
            "{took:?}"
        );
        assert_eq!(cut.await.expect("no panic"), left > 0);
        ends.await.expect("no panic");
        // Again, with nothing left.
        assert_eq!(balancer.shutdown_within(limit).await, 0);
        assert!(balancer.pick(&request).is_err());
    }
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_before_the_first_view_wakes_those_who_wait() {
    let source = ScriptedDiscovery::new();
    let balancer = build(&source);
    let caller = tokio::spawn({
        let balancer = balancer.clone();
        async move { balancer.ready().await }
    });
    settle().await;
    let start = tokio::time::Instant::now();
    balancer.shutdown().await;
    let result = caller.await.expect("no panic");
    assert!(matches!(result, Err(PickError::ShutDown { .. })));
    assert!(start.elapsed() < Duration::from_millis(100));
}

/// A failed first answer strands none of many first callers, on a single thread (B25).
#[tokio::test(start_paused = true)]
async fn a_failed_first_answer_is_tried_again() {
    let source = ScriptedDiscovery::new();
    source.go_down(ErrorKind::Unavailable);
    let config = BalancerConfig::default()
        .with_ready_timeout(Duration::from_secs(60))
        .expect("valid");
    let balancer = Balancer::builder(source.clone(), service())
        .with_config(config)
        .build()
        .expect("in a runtime");
    let callers: Vec<_> = (0..16)
        .map(|_| {
            let balancer = balancer.clone();
            tokio::spawn(async move { balancer.ready().await })
        })
        .collect();
    tokio::time::sleep(Duration::from_secs(2)).await;
    source.go_up();
    source.push_instances([instance(1)]);
    for caller in callers {
        caller.await.expect("no panic").expect("ready");
    }
}

/// A source that has a different state each time it is asked, and never makes anyone wait.
#[derive(Debug)]
struct Restless;

fn restless(n: usize) -> Result<Update, DiscoveryError> {
    let instances = (0..10).map(|id| weighted(id, u32::try_from(n % 100 + 1).expect("small")));
    Ok(Update::instances(instances, Provenance::live("restless")))
}

impl Discovery for Restless {
    fn name(&self) -> &str {
        "restless"
    }

    fn watch(&self, _service: &ServiceKey) -> BoxStream<'static, Result<Update, DiscoveryError>> {
        unfold(0, |n| async move { Some((restless(n), n + 1)) })
    }

    fn fetch(&self, _service: &ServiceKey) -> BoxFuture<'static, Result<Update, DiscoveryError>> {
        Box::pin(async { restless(0) })
    }
}

#[test]
fn a_restless_source_starves_neither_the_thread_nor_the_timers() {
    let [runtime, _] = runtimes();
    runtime.block_on(async {
        let before = tasks();
        let outlier = OutlierConfig::default()
            .with_base_ejection_time(Duration::from_millis(50))
            .expect("valid");
        let balancer = Balancer::builder(Restless, service())
            .with_config(BalancerConfig::default().with_outlier(outlier))
            .build()
            .expect("in a runtime");
        balancer.ready().await.expect("ready");
        fail(&balancer, "k", 5);
        eventually("it is ejected", || balancer.status().ejected == 1).await;
        eventually("it returns", || balancer.status().ejected == 0).await;
        drop(balancer);
        eventually("it ends", || tasks() == before).await;
    });
}

//! Parts that were built apart, together.

use std::time::Duration;

use ringfence_balancer::{
    Balancer, BalancerConfig, Candidate, ConcurrencyLimits, FailureKind, FlapDampingConfig,
    HealthCheckConfig, MissingKey, Outcome, OutlierConfig, PickRequest, ServiceKey,
    SlowStartConfig, WarmUp,
};
use ringfence_core::Instance;
use ringfence_discovery::{BoxFuture, ProbeError};
use ringfence_testkit::{ProbeVerdict, ScriptedProbe};
use tokio::time::sleep;

use crate::support::*;

fn sick(n: usize) -> Instance {
    let healthy = instance(n);
    Instance::builder(healthy.id().as_str(), healthy.address().to_string())
        .healthy(false)
        .build()
        .expect("valid")
}

fn ring_weight(balancer: &Balancer, id: &str) -> u32 {
    let view = balancer.view().expect("ready");
    let place = view.snapshot().index_of(id).expect("it is there");
    view.snapshot()
        .ring_weight(u32::try_from(place).expect("few"))
}

/// Warm after so long.
#[derive(Debug)]
struct After(Duration);

impl WarmUp for After {
    fn warm<'a>(
        &'a self,
        _candidate: &'a Candidate,
        _service: &'a ServiceKey,
    ) -> BoxFuture<'a, Result<(), ProbeError>> {
        Box::pin(async {
            sleep(self.0).await;
            Ok(())
        })
    }
}

async fn warming(
    instances: impl IntoIterator<Item = Instance>,
    after: Duration,
    config: BalancerConfig,
) -> (ringfence_discovery::MemoryRegistry, Balancer) {
    let registry = registry(instances);
    let balancer = Balancer::builder(registry.clone(), service())
        .with_config(config)
        .with_warm_up(After(after), Duration::from_secs(60))
        .expect("in range")
        .build()
        .expect("in a runtime");
    balancer.ready().await.expect("the registry answers");
    (registry, balancer)
}

/// "The last usable instance is never ejected": checks and outlier detection together.
#[tokio::test(start_paused = true)]
async fn the_last_that_passes_its_checks_is_not_ejected() {
    let registry = registry((0..3).map(instance));
    let probe = ScriptedProbe::new();
    let config = BalancerConfig::default()
        .with_panic_threshold(0)
        .expect("legal");
    let balancer = Balancer::builder(registry.clone(), service())
        .with_config(config)
        .with_health_check(probe.clone(), HealthCheckConfig::default())
        .build()
        .expect("in a runtime");
    balancer.ready().await.expect("the registry answers");
    let key = key_of(&balancer, "i2");
    probe.set("i0", ProbeVerdict::Fail);
    probe.set("i1", ProbeVerdict::Fail);
    seconds(60).await;
    assert_eq!(balancer.status().usable, 1);
    for _ in 0..20 {
        let Ok(decision) = balancer.pick(&PickRequest::new().with_key(&key)) else {
            break;
        };
        decision
            .first()
            .begin()
            .report(Outcome::Failure(FailureKind::Status));
        settle().await;
    }
    let status = balancer.status();
    assert_eq!(
        (status.ejected, status.usable),
        (0, 1),
        "the last one stays"
    );
}

/// The same while the others warm up.
#[tokio::test(start_paused = true)]
async fn the_last_that_is_warm_is_not_ejected() {
    let config = BalancerConfig::default()
        .with_panic_threshold(0)
        .expect("legal");
    let (registry, balancer) = warming([instance(0)], Duration::from_secs(50), config).await;
    let key = key_of(&balancer, "i0");
    registry.register(service(), instance(1));
    registry.register(service(), instance(2));
    merged().await;
    assert_eq!(balancer.status().usable, 1);
    fail(&balancer, &key, 5);
    settle().await;
    let status = balancer.status();
    assert_eq!(
        (status.ejected, status.usable),
        (0, 1),
        "the last one stays"
    );
    balancer
        .pick(&PickRequest::new().with_key(&key))
        .expect("the last one serves");
}

/// All instances are replaced, as in a blue-green deployment; without panic nobody serves until they are warm.
#[tokio::test(start_paused = true)]
async fn where_there_is_nobody_else_those_that_warm_up_serve() {
    for threshold in [50, 0] {
        let config = BalancerConfig::default()
            .with_panic_threshold(threshold)
            .expect("legal");
        let (registry, balancer) = warming([instance(0)], Duration::from_secs(50), config).await;
        registry.replace(service(), [instance(1), instance(2)]);
        seconds(15).await;
        let status = balancer.status();
        assert_eq!((status.instances, status.warming), (2, 2));
        balancer
            .pick(&PickRequest::new().with_key("k"))
            .unwrap_or_else(|error| panic!("threshold {threshold}: {error}"));
    }
}

/// "A slow start begins when it is warm."
#[tokio::test(start_paused = true)]
async fn a_slow_start_begins_at_the_least_weight_when_it_is_warm() {
    for (window, warm_after) in [(20, 10), (5, 10)] {
        let slow_start = SlowStartConfig::default().with_window(Duration::from_secs(window));
        let config = BalancerConfig::default().with_slow_start(slow_start.expect("in range"));
        let (registry, balancer) = warming(
            (0..2).map(instance),
            Duration::from_secs(warm_after),
            config,
        )
        .await;
        registry.register(service(), instance(5));
        merged().await;
        while balancer.status().warming == 1 {
            sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(
            ring_weight(&balancer, "i5"),
            10,
            "window {window} s, warm after {warm_after} s"
        );
    }
}

/// Registries such as Consul list a new instance as critical until its first check passed.
#[tokio::test(start_paused = true)]
async fn a_slow_start_begins_with_the_first_request() {
    let slow_start = SlowStartConfig::default().with_window(Duration::from_secs(20));
    let config = BalancerConfig::default().with_slow_start(slow_start.expect("in range"));
    let registry = registry((0..2).map(instance));
    let balancer = balancer(&registry, config).await;
    registry.register(service(), sick(5));
    seconds(30).await;
    registry.register(service(), instance(5));
    merged().await;
    assert_eq!(ring_weight(&balancer, "i5"), 10);
}

/// The same where a check has to pass first.
#[tokio::test(start_paused = true)]
async fn a_slow_start_begins_when_the_first_check_passed() {
    let slow_start = SlowStartConfig::default().with_window(Duration::from_secs(20));
    let config = BalancerConfig::default().with_slow_start(slow_start.expect("in range"));
    let registry = registry((0..2).map(instance));
    let probe = ScriptedProbe::new();
    let balancer = Balancer::builder(registry.clone(), service())
        .with_config(config)
        .with_health_check(
            probe.clone(),
            HealthCheckConfig::default().with_require_pass(true),
        )
        .build()
        .expect("in a runtime");
    balancer.ready().await.expect("the registry answers");
    seconds(5).await;
    probe.set("i5", ProbeVerdict::Fail);
    registry.register(service(), instance(5));
    seconds(60).await;
    assert_eq!(balancer.status().awaiting_check, 1);
    probe.set("i5", ProbeVerdict::Pass);
    while balancer.status().awaiting_check == 1 {
        sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(ring_weight(&balancer, "i5"), 10);
}

/// "An instance that is drained by hand: no flap." With checks that have to pass first it is one.
#[tokio::test(start_paused = true)]
async fn a_drained_instance_that_comes_back_is_no_flap() {
    let registry = registry((0..4).map(instance));
    let probe = ScriptedProbe::new();
    let balancer = Balancer::builder(registry.clone(), service())
        .with_config(BalancerConfig::default().with_flap_damping(FlapDampingConfig::default()))
        .with_health_check(
            probe.clone(),
            HealthCheckConfig::default().with_require_pass(true),
        )
        .build()
        .expect("in a runtime");
    balancer.ready().await.expect("the registry answers");
    seconds(10).await;
    assert_eq!(balancer.status().usable, 4);
    registry.register(service(), weighted(1, 0));
    seconds(10).await;
    registry.register(service(), instance(1));
    merged().await;
    seconds(2).await;
    let status = balancer.status();
    assert_eq!((status.counters.flaps, status.damped), (0, 0));
}

fn outlier(percent: u32) -> OutlierConfig {
    let outlier = OutlierConfig::default().with_max_ejection_percent(percent);
    outlier.expect("valid")
}

/// A full pool must not flood the one that is on trial.
#[tokio::test(start_paused = true)]
async fn what_is_too_much_for_the_others_does_not_flood_a_trial() {
    let limits = ConcurrencyLimits::default()
        .with_max_in_flight_per_instance(10)
        .expect("in range");
    let registry = registry((0..3).map(instance));
    let config = BalancerConfig::default()
        .with_outlier(outlier(50))
        .with_concurrency(limits);
    let balancer = balancer(&registry, config).await;
    let key = key_of(&balancer, "i1");
    fail(&balancer, &key, 5);
    settle().await;
    assert_eq!(balancer.status().ejected, 1);
    seconds(34).await;
    assert_eq!(balancer.status().on_trial, 1);
    let mut running = Vec::new();
    for _ in 0..100 {
        if let Ok(decision) = balancer.pick(&PickRequest::new().with_key("k")) {
            running.extend(decision.first().try_begin_on_trial());
        }
    }
    let on_trial = running
        .iter()
        .filter(|attempt| attempt.instance().id().as_str() == "i1");
    assert_eq!(on_trial.count(), 1, "of {}", running.len());
}

/// Requests that were begun while an instance is new in its trial.
#[tokio::test(start_paused = true)]
async fn a_pick_that_is_kept_after_the_trial_holds_nothing() {
    let registry = registry((0..4).map(instance));
    let config = BalancerConfig::default().with_outlier(outlier(50));
    let balancer = balancer(&registry, config).await;
    let key = key_of(&balancer, "i1");
    fail(&balancer, &key, 5);
    settle().await;
    seconds(34).await;
    let request = PickRequest::new().with_key(&key);
    let kept = balancer.pick(&request).expect("one");
    assert_eq!(kept.instance().id().as_str(), "i1");
    seconds(40).await;
    assert_eq!(balancer.status().on_trial, 0);
    let mut attempts: Vec<_> = (0..5).map(|_| begin(&balancer, &key)).collect();
    for attempt in &mut attempts {
        attempt.report(Outcome::Failure(FailureKind::Status));
    }
    settle().await;
    assert_eq!(balancer.status().ejected, 1);
    seconds(70).await;
    assert_eq!(balancer.status().on_trial, 1);
    drop(kept);
    let one = begin(&balancer, &key);
    assert_eq!(one.instance().id().as_str(), "i1");
    assert_ne!(begin(&balancer, &key).instance().id().as_str(), "i1");
    let _ = MissingKey::P2c;
}

/// 10,000 instances that come and go: nothing is left of them.
#[tokio::test(start_paused = true)]
async fn churn_leaves_nothing() {
    let slow_start = SlowStartConfig::default().with_window(Duration::from_secs(20));
    let config = BalancerConfig::default()
        .with_slow_start(slow_start.expect("in range"))
        .with_flap_damping(FlapDampingConfig::default());
    let (registry, balancer) = warming(
        [instance(0), instance(1), instance(2)],
        Duration::from_millis(10),
        config,
    )
    .await;
    for round in 0..100 {
        for n in 0..100 {
            registry.register(service(), instance(10 + round * 100 + n));
        }
        sleep(Duration::from_secs(1)).await;
        for n in 0..100 {
            let id = format!("i{}", 10 + round * 100 + n);
            registry.deregister(service(), &id);
        }
        sleep(Duration::from_secs(20)).await;
    }
    seconds(60).await;
    let status = balancer.status();
    assert_eq!((status.instances, status.nodes), (3, 3));
    assert_eq!((status.warming, status.damped), (0, 0));
    assert_eq!(
        status.starting_slowly, 0,
        "nobody is left who starts slowly"
    );
}

/// "Those that are there when the program starts are not new", with a copy on disk too.
#[tokio::test(start_paused = true)]
async fn what_the_registry_lists_first_is_not_new_because_a_copy_was_older() {
    use ringfence_balancer::StartPolicy;
    use ringfence_discovery::{DiskSnapshots, ErrorKind, WatchConfig};
    use ringfence_testkit::ScriptedDiscovery;

    let dir = tempfile::TempDir::new().expect("a folder");
    let watch = WatchConfig::default().with_disk_snapshots(DiskSnapshots::new(dir.path()));
    let slow_start = SlowStartConfig::default().with_window(Duration::from_secs(60));
    let config = BalancerConfig::default()
        .with_watch(watch)
        .with_start_policy(StartPolicy::UseDiskSnapshot)
        .with_slow_start(slow_start.expect("in range"));
    let build = |source: &ScriptedDiscovery| {
        Balancer::builder(source.clone(), service())
            .with_config(config.clone())
            .build()
            .expect("in a runtime")
    };
    let source = ScriptedDiscovery::new();
    source.push_instances((0..4).map(instance));
    let balancer = build(&source);
    balancer.ready().await.expect("the registry answers");
    seconds(30).await;
    balancer.shutdown().await;
    drop(balancer);

    // Hours later there are more.
    let source = ScriptedDiscovery::new();
    source.go_down(ErrorKind::Unavailable);
    let balancer = build(&source);
    balancer.ready().await.expect("from the copy");
    source.push_instances((2..9).map(instance));
    source.go_up();
    while balancer.status().instances != 7 {
        sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(balancer.status().starting_slowly, 0);
    assert_eq!(ring_weight(&balancer, "i8"), 100);
}

/// The other order: first it is ejected, then the others fail their checks.
#[tokio::test(start_paused = true)]
async fn an_ejection_ends_when_checks_take_out_all_others() {
    let registry = registry((0..3).map(instance));
    let probe = ScriptedProbe::new();
    let outlier = OutlierConfig::default().with_base_ejection_time(Duration::from_secs(300));
    let config = BalancerConfig::default()
        .with_outlier(outlier.expect("legal"))
        .with_panic_threshold(0)
        .expect("legal");
    let balancer = Balancer::builder(registry.clone(), service())
        .with_config(config)
        .with_health_check(probe.clone(), HealthCheckConfig::default())
        .build()
        .expect("in a runtime");
    balancer.ready().await.expect("the registry answers");
    let key = key_of(&balancer, "i2");
    for _ in 0..5 {
        begin(&balancer, &key).report(Outcome::Failure(FailureKind::Status));
    }
    settle().await;
    assert_eq!(balancer.status().ejected, 1);
    probe.set("i0", ProbeVerdict::Fail);
    probe.set("i1", ProbeVerdict::Fail);
    seconds(60).await;
    balancer
        .pick(&PickRequest::new().with_key(&key))
        .expect("the one that passes its checks");
}

/// Many threads, instances that come and go, ejections, trials and limits: nothing leaks.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nothing_leaks_under_threads() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let outlier = OutlierConfig::default()
        .with_max_ejection_percent(60)
        .and_then(|c| c.with_base_ejection_time(Duration::from_millis(5)))
        .and_then(|c| c.with_max_ejection_time(Duration::from_millis(20)))
        .expect("valid");
    let limits = ConcurrencyLimits::default()
        .with_max_in_flight_per_instance(3)
        .expect("in range");
    let config = BalancerConfig::default()
        .with_outlier(outlier)
        .with_concurrency(limits)
        .with_hash_balance_factor(125)
        .expect("in range")
        .with_update_merge_window(Duration::ZERO)
        .expect("in range");
    let registry = registry((0..8).map(instance));
    let balancer = balancer(&registry, config).await;
    let stop = AtomicBool::new(false);
    let broken = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for thread in 0..6_u64 {
            let (balancer, stop, broken) = (&balancer, &stop, &broken);
            scope.spawn(move || {
                let mut random = fastrand::Rng::with_seed(thread);
                while !stop.load(Ordering::Relaxed) {
                    let key = key(random.usize(..50));
                    let request = PickRequest::new().with_key(&key);
                    let Ok(decision) = balancer.pick(&request) else {
                        continue;
                    };
                    let mut held = Vec::new();
                    for candidate in decision.candidates() {
                        if let Some(mut attempt) = candidate.try_begin() {
                            if attempt.node().in_flight() > 3 {
                                broken.store(true, Ordering::Relaxed);
                            }
                            match random.u8(..4) {
                                0 => attempt.report(Outcome::Failure(FailureKind::Connect)),
                                1 => attempt.report(Outcome::Success),
                                2 => attempt.report(Outcome::Neutral),
                                _ => {}
                            }
                            held.push(attempt);
                        }
                    }
                }
            });
        }
        for round in 0..150 {
            let n = round % 8;
            registry.deregister(service(), &format!("i{n}"));
            std::thread::sleep(Duration::from_millis(10));
            registry.register(service(), instance(n));
        }
        stop.store(true, Ordering::Relaxed);
    });
    sleep(Duration::from_millis(300)).await;
    let status = balancer.status();
    eprintln!("{:?}", status.counters);
    assert!(!broken.into_inner(), "over max_in_flight_per_instance");
    assert_eq!(
        (
            status.instances,
            status.nodes,
            status.ejected,
            status.on_trial
        ),
        (8, 8, 0, 0)
    );
    for candidate in balancer
        .owners(&PickRequest::new().with_key("k"), 8)
        .expect("all")
    {
        assert_eq!(candidate.in_flight(), 0);
    }
}

/// Least request, past one that is on trial, and past one that is full.
#[tokio::test(start_paused = true)]
async fn least_request_stays_even_past_one_on_trial() {
    let registry = registry((0..4).map(instance));
    let config = BalancerConfig::default().with_outlier(outlier(50));
    let balancer = balancer(&registry, config).await;
    let key = key_of(&balancer, "i1");
    fail(&balancer, &key, 5);
    settle().await;
    seconds(34).await;
    assert_eq!(balancer.status().on_trial, 1);
    let _slot = begin(&balancer, &key);
    let mut running: Vec<_> = (0..400)
        .filter_map(|n| {
            let attempt = begin(&balancer, &super::support::key(n));
            (attempt.instance().id().as_str() != "i1" && attempt.node().in_flight() <= 3)
                .then_some(attempt)
        })
        .collect();
    assert_eq!(running.len(), 9, "three on each of the others");
    let request = PickRequest::new().with_missing_key(MissingKey::LeastRequest);
    for _ in 0..60 {
        running.push(balancer.pick(&request).expect("one").first().begin());
    }
    let mut counts = [0; 4];
    for attempt in &running {
        let id = attempt.instance().id().as_str();
        counts[usize::from(id.as_bytes()[1] - b'0')] += 1;
    }
    assert_eq!(counts, [23, 0, 23, 23]);
}

#[tokio::test(start_paused = true)]
async fn least_request_stays_even_past_one_that_is_full() {
    let limits = ConcurrencyLimits::default()
        .with_max_in_flight_per_instance(30)
        .expect("in range");
    let registry = registry([
        weighted(0, 10),
        weighted(1, 1_000),
        weighted(2, 10),
        weighted(3, 10),
    ]);
    let config = BalancerConfig::default().with_concurrency(limits);
    let balancer = balancer(&registry, config).await;
    let request = PickRequest::new().with_missing_key(MissingKey::LeastRequest);
    let mut running = Vec::new();
    for _ in 0..60 {
        running.push(balancer.pick(&request).expect("one").first().begin());
    }
    let mut counts = [0; 4];
    for attempt in &running {
        let id = attempt.instance().id().as_str();
        counts[usize::from(id.as_bytes()[1] - b'0')] += 1;
    }
    assert_eq!(counts, [10, 30, 10, 10]);
}

#[tokio::test(start_paused = true)]
async fn turns_stay_even_past_one_on_trial() {
    let registry = registry((0..4).map(instance));
    let config = BalancerConfig::default().with_outlier(outlier(50));
    let balancer = balancer(&registry, config).await;
    let key = key_of(&balancer, "i1");
    fail(&balancer, &key, 5);
    settle().await;
    seconds(34).await;
    let _slot = begin(&balancer, &key);
    for missing_key in [MissingKey::RoundRobin, MissingKey::Random, MissingKey::P2c] {
        let request = PickRequest::new().with_missing_key(missing_key);
        let mut counts = [0_i32; 4];
        for _ in 0..3_000 {
            let picked = balancer.pick(&request).expect("one");
            let id = picked.instance().id().as_str();
            counts[usize::from(id.as_bytes()[1] - b'0')] += 1;
        }
        eprintln!("{missing_key:?} {counts:?}");
        assert!(
            (counts[2] - 1_000).abs() < 200,
            "{missing_key:?} {counts:?}"
        );
    }
}

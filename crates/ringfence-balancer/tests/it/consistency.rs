use std::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::{Duration, Instant},
};

use proptest::prelude::*;
use ringfence_balancer::{Balancer, BalancerConfig, PickRequest};
use ringfence_core::{Instance, PlanId, RequestTags};

use crate::support::*;

const UPDATES: usize = 1_000;
/// The writer waits for the readers so often, so that how much they see does not depend on how busy the machine is.
const SEEN_EVERY: usize = 20;

/// Readers never see an instance that is not in the state they read (B54).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_see_whole_states_during_a_thousand_updates() {
    let registry = registry((0..20).map(instance));
    let config = BalancerConfig::default()
        .with_update_merge_window(Duration::ZERO)
        .expect("valid");
    let balancer = balancer(&registry, config).await;
    let done = AtomicBool::new(false);
    let seen = [const { AtomicU64::new(0) }; 2];
    std::thread::scope(|scope| {
        let readers: Vec<_> = seen
            .iter()
            .map(|seen| {
                let (balancer, done) = (&balancer, &done);
                scope.spawn(move || read(balancer, done, seen))
            })
            .collect();
        for n in 0..UPDATES {
            // The weight is the generation, so a mixture of two states would show.
            let generation = 1 + n % 100;
            let members = (0..20).filter(|m| (m + n) % 5 != 0);
            registry.replace(
                service(),
                members.map(|m| weighted(m, u32::try_from(generation).expect("small"))),
            );
            let published = n as u64 + 2;
            wait_for(|| {
                balancer
                    .view()
                    .is_some_and(|view| view.epoch() >= published)
            });
            if n % SEEN_EVERY == 0 {
                let has_seen = |seen: &AtomicU64| seen.load(Ordering::Relaxed) >= published;
                wait_for(|| seen.iter().all(has_seen));
            }
        }
        done.store(true, Ordering::Relaxed);
        for reader in readers {
            let epochs = reader.join().expect("no panic");
            assert!(epochs >= UPDATES / SEEN_EVERY, "{epochs}");
        }
    });
}

fn wait_for(done: impl Fn() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < Duration::from_secs(20), "never");
        std::thread::yield_now();
    }
}

/// Picks until it is told to stop; notes the epoch that it has checked, and returns how many there were.
fn read(balancer: &Balancer, done: &AtomicBool, seen: &AtomicU64) -> usize {
    let (mut epochs, mut last) = (0, 0);
    for n in 0.. {
        if done.load(Ordering::Relaxed) {
            break;
        }
        let key = key(n);
        let decision = balancer
            .pick(&PickRequest::new().with_key(&key))
            .expect("never empty");
        assert!(decision.epoch() >= last, "epochs only rise");
        epochs += usize::from(decision.epoch() > last);
        last = decision.epoch();
        let weights: Vec<_> = decision
            .candidates()
            .map(|candidate| candidate.instance().weight())
            .collect();
        assert!(weights.windows(2).all(|pair| pair[0] == pair[1]));
        if let Some(view) = balancer.view().filter(|view| view.epoch() == last) {
            for candidate in decision.candidates() {
                let instance = candidate.instance();
                assert_eq!(view.snapshot().get(instance.id().as_str()), Some(instance));
            }
        }
        seen.store(last, Ordering::Relaxed);
    }
    epochs
}

fn tagged(n: usize, version: usize, zone: usize, healthy: bool) -> Instance {
    instance(n)
        .to_builder()
        .version(["stable", "gray", "v2"][version])
        .zone(["a", "b"][zone])
        .healthy(healthy)
        .build()
        .expect("valid")
}

fn candidates(balancer: &Balancer, keys: &[String], tags: &RequestTags) -> Vec<Vec<String>> {
    keys.iter()
        .map(|key| {
            let request = PickRequest::new().with_key(key).with_tags(tags);
            balancer.pick(&request).map_or_else(
                |error| vec![error.to_string()],
                |decision| {
                    let candidates = decision.candidates();
                    candidates.map(|c| c.instance().id().to_string()).collect()
                },
            )
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whether the pools of the tags are prepared makes no difference to any key.
    #[test]
    fn a_prepared_route_maps_every_key_like_an_unprepared_one(
        instances in prop::collection::vec((0..3_usize, 0..2_usize, prop::bool::weighted(0.8)), 1..30),
        version in prop::option::of(0..3_usize),
        zone in prop::option::of(0..2_usize),
        keys in prop::collection::vec(".{1,12}", 1..40),
    ) {
        let mut tags = RequestTags::new();
        if let Some(version) = version {
            tags = tags.with_version(["stable", "gray", "v2"][version]);
        }
        if let Some(zone) = zone {
            tags = tags.with_zone(["a", "b"][zone]);
        }
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .expect("a runtime");
        runtime.block_on(async {
            let instances = instances.iter().enumerate();
            let registry = registry(instances.map(|(n, (v, z, healthy))| tagged(n, *v, *z, *healthy)));
            let balancer = balancer(&registry, BalancerConfig::default()).await;
            let unprepared = candidates(&balancer, &keys, &tags);
            settle().await;
            let view = balancer.view().expect("ready");
            prop_assert!(view.route(PlanId::ROUTING, &tags).is_some(), "prepared now");
            prop_assert_eq!(candidates(&balancer, &keys, &tags), unprepared);
            let expected = if tags.is_empty() { 0 } else { keys.len() as u64 };
            prop_assert_eq!(balancer.status().counters.picks_unprepared, expected);
            Ok(())
        })?;
    }
}

#[tokio::test(start_paused = true)]
async fn the_number_of_prepared_pools_is_bounded_whatever_clients_send() {
    let registry = registry((0..5).map(|n| tagged(n, n % 3, n % 2, true)));
    let config = BalancerConfig::default().with_max_pools(10).expect("valid");
    let balancer = balancer(&registry, config).await;
    let gray = RequestTags::new().with_version("gray");
    for n in 0..1_000 {
        let hostile = RequestTags::new().with_zone(format!("zone-{n}"));
        for tags in [&gray, &hostile] {
            let request = PickRequest::new().with_key("k").with_tags(tags);
            balancer.pick(&request).expect("one");
        }
        tokio::time::sleep(Duration::from_millis(40)).await;
    }
    let view = balancer.view().expect("ready");
    assert!(view.routes().len() <= 10);
    assert!(
        view.route(PlanId::ROUTING, &gray).is_some(),
        "what is used stays"
    );
    let counters = balancer.status().counters;
    assert!(counters.routes_evicted > 900, "{counters:?}");
    assert!(counters.views_published < 450, "{counters:?}");
}

#[tokio::test(start_paused = true)]
async fn owners_are_the_walk_of_the_key() {
    let registry = registry((0..20).map(instance));
    let balancer = balancer(&registry, BalancerConfig::default()).await;
    let request = PickRequest::new().with_key("k");
    let all = balancer.owners(&request, 100).expect("some");
    assert_eq!(all.len(), 20);
    let decision = balancer.pick(&request).expect("one");
    for (owner, candidate) in all.iter().zip(decision.candidates()) {
        assert_eq!(owner.instance(), candidate.instance());
    }
    let one = balancer.pick(&request.with_max_candidates(1)).expect("one");
    assert_eq!(one.candidates().len(), 1);
    assert!(balancer.owners(&PickRequest::new(), 1).is_err());
}

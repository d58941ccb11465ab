//! What a change moved, and who had the keys before.

use std::{sync::Arc, time::Duration};

use ringfence_balancer::{Balancer, BalancerConfig, PickRequest, RingConfig};
use ringfence_core::{KeyShare, MovementWindow};
use ringfence_discovery::MemoryRegistry;
use ringfence_testkit::Warnings;
use tokio::time::sleep;

use crate::support::*;

const WINDOW: Duration = Duration::from_secs(60);

fn config() -> BalancerConfig {
    let config = BalancerConfig::default().with_movement_window(WINDOW);
    config.expect("in range")
}

fn old_owner(balancer: &Balancer, key: &str) -> Option<String> {
    let old = balancer.old_owner(&PickRequest::new().with_key(key));
    old.map(|instance| instance.id().to_string())
}

async fn grown(config: BalancerConfig) -> (MemoryRegistry, Balancer, Vec<String>) {
    let registry = registry((0..4).map(instance));
    let balancer = balancer(&registry, config).await;
    let before = owners(&balancer, 400);
    registry.register(service(), instance(9));
    merged().await;
    (registry, balancer, before)
}

#[tokio::test(start_paused = true)]
async fn the_old_owner_of_a_moved_key_is_known_until_the_window_is_over() {
    let (_registry, balancer, before) = grown(config()).await;
    let mut moved = 0;
    for (n, (was, is)) in before.iter().zip(owners(&balancer, 400)).enumerate() {
        let expected = (*was != is).then(|| was.clone());
        moved += usize::from(expected.is_some());
        assert_eq!(old_owner(&balancer, &key(n)), expected, "{n}");
    }
    assert!(moved > 40, "{moved}");
    let movement = balancer.movement().expect("within the window");
    let diff = movement.whole().expect("rings of points");
    assert_eq!(Some(diff.moved_share()), balancer.status().moved_share);
    assert!(
        diff.moves()
            .all(|m| m.to.is_some_and(|id| id.as_str() == "i9"))
    );
    let spec = movement
        .after()
        .pools()
        .next()
        .expect("one")
        .pool()
        .spec()
        .clone();
    let of_pool = movement
        .of_pool(&spec)
        .expect("in both")
        .expect("rings of points");
    assert_eq!(of_pool.moved_share(), diff.moved_share());

    // The view of before is let go of when its time is over, without any request or change.
    let old = Arc::downgrade(movement.before());
    drop((movement, diff, of_pool));
    assert!(old.upgrade().is_some());
    sleep(WINDOW).await;
    assert!((0..400).all(|n| old_owner(&balancer, &key(n)).is_none()));
    assert!(balancer.movement().is_none() && old.upgrade().is_none());
}

#[tokio::test(start_paused = true)]
async fn without_a_window_nothing_is_kept() {
    let (_registry, balancer, _) = grown(BalancerConfig::default()).await;
    assert!(balancer.movement().is_none());
    assert!((0..400).all(|n| old_owner(&balancer, &key(n)).is_none()));
    assert!(
        balancer.status().moved_share.is_some(),
        "the share is told all the same"
    );
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_lets_go_of_the_views_of_before() {
    let (_registry, balancer, _) = grown(config()).await;
    let before = {
        let movement = balancer.movement().expect("within the window");
        Arc::downgrade(movement.before())
    };
    balancer.shutdown().await;
    assert!(before.upgrade().is_none() && balancer.movement().is_none());
    assert_eq!(old_owner(&balancer, "key-1"), None);
}

#[tokio::test(start_paused = true)]
async fn the_status_and_the_log_tell_the_share_of_the_last_change() {
    let log = Warnings::capture_from(tracing::Level::INFO);
    let registry = registry((0..4).map(instance));
    let balancer = balancer(&registry, config()).await;
    assert_eq!(
        balancer.status().moved_share,
        None,
        "nothing was there before"
    );
    registry.register(service(), instance(9));
    merged().await;
    let share = |balancer: &Balancer| balancer.status().moved_share.map(KeyShare::as_f64);
    let joined = share(&balancer).expect("measured");
    assert!((0.15..0.25).contains(&joined), "{joined}");
    let told = format!(" moved={:.2} %", joined * 100.0);
    let lines = log.take();
    assert!(lines.iter().any(|line| line.contains(&told)), "{lines:?}");
    // A change of health moves nobody.
    let ill = instance(1).to_builder().healthy(false).build();
    registry.register(service(), ill.expect("legal"));
    merged().await;
    assert_eq!(share(&balancer), Some(joined));
    let lines = log.take();
    assert!(
        !lines.iter().any(|line| line.contains(" moved=")),
        "{lines:?}"
    );
    registry.deregister(service(), "i9");
    settle().await;
    assert_eq!(share(&balancer), Some(joined), "the way back is as long");
    for n in 10..14 {
        registry.register(service(), instance(n));
    }
    merged().await;
    let doubled = share(&balancer).expect("measured");
    assert!((0.4..0.6).contains(&doubled), "{doubled}");
}

/// Beside the runtime, and not at all where updates would have to wait for it.
#[tokio::test(start_paused = true)]
async fn rings_of_many_points_are_measured_beside_the_runtime_and_larger_ones_not() {
    for (points, is_measured) in [(8_000, true), (60_000, false)] {
        let ring = RingConfig::default().with_points_per_instance(points);
        let config = BalancerConfig::default().with_ring(ring.expect("in range"));
        let registry = registry((0..4).map(instance));
        let balancer = balancer(&registry, config).await;
        registry.register(service(), instance(9));
        merged().await;
        settle().await;
        assert_eq!(balancer.status().instances, 5);
        let share = balancer.status().moved_share.map(KeyShare::as_f64);
        let measured = share.map(|share| (0.19..0.21).contains(&share));
        assert_eq!(measured, is_measured.then_some(true), "{share:?}");
    }
}

/// However often a ring changes within the window, only so many views are kept.
#[tokio::test(start_paused = true)]
async fn many_changes_keep_few_views() {
    let registry = registry((0..4).map(instance));
    let balancer = balancer(&registry, config()).await;
    let mut views = Vec::new();
    for n in 10..40 {
        views.push(Arc::downgrade(&balancer.view().expect("ready")));
        registry.register(service(), instance(n));
        merged().await;
    }
    let alive = views.iter().filter(|view| view.upgrade().is_some()).count();
    assert_eq!(alive, MovementWindow::MAX_CHANGES);
}

/// What a running program says of its ring is what the command says of the same instances.
#[tokio::test(start_paused = true)]
async fn a_dump_tells_what_two_clients_disagree_about() {
    let here = balancer(&registry([1, 2, 3].map(instance)), config()).await;
    let there = balancer(&registry([3, 2, 1].map(instance)), config()).await;
    let dump = |balancer: &Balancer| balancer.dump().expect("ready");
    assert_eq!(
        dump(&here).fingerprint,
        here.status().fingerprint.expect("ready").to_string()
    );
    assert_eq!(dump(&here).first_disagreement(&dump(&there)), None);
    let fewer = balancer(&registry([weighted(1, 100), weighted(2, 50)]), config()).await;
    let why = dump(&here)
        .first_disagreement(&dump(&fewer))
        .expect("one is missing");
    assert_eq!(
        why.to_string(),
        "the instances differ: only the first has `i3`"
    );
    here.shutdown().await;
    assert!(here.dump().is_none());
}

#[test]
fn the_window_has_a_range() {
    let window = |time| BalancerConfig::default().with_movement_window(time);
    assert!(window(Duration::from_secs(86_400)).is_ok());
    assert!(window(Duration::from_secs(86_401)).is_err());
    assert_eq!(BalancerConfig::default().movement_window(), Duration::ZERO);
}

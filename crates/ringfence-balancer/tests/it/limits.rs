//! Limits on what is in flight.

use std::{collections::HashMap, sync::Arc, time::Duration};

use ringfence_balancer::{
    Balancer, BalancerConfig, ConcurrencyLimits, InFlight, MissingKey, Overload, Permit, PickError,
    PickRequest,
};
use tokio::time::Instant;

use crate::support::*;

fn each(most: u64) -> ConcurrencyLimits {
    let limits = ConcurrencyLimits::default().with_max_in_flight_per_instance(most);
    limits.expect("in range")
}

fn in_all(most: usize, queued: usize) -> ConcurrencyLimits {
    let limits = ConcurrencyLimits::default().with_max_in_flight(most);
    let limits = limits.and_then(|limits| limits.with_max_queued(queued));
    let limits = limits.and_then(|limits| limits.with_queue_timeout(Duration::from_secs(2)));
    limits.expect("in range")
}

async fn limited(limits: ConcurrencyLimits) -> Balancer {
    let registry = registry((0..4).map(instance));
    balancer(
        &registry,
        BalancerConfig::default().with_concurrency(limits),
    )
    .await
}

fn overload(error: PickError) -> Overload {
    match error {
        PickError::Overloaded { overload, .. } => overload,
        other => panic!("{other}"),
    }
}

#[tokio::test(start_paused = true)]
async fn full_instances_are_passed_by_and_when_all_are_full_requests_fail_at_once() {
    let balancer = limited(each(2)).await;
    for missing_key in [
        MissingKey::P2c,
        MissingKey::LeastRequest,
        MissingKey::RoundRobin,
        MissingKey::Random,
    ] {
        for request in [
            PickRequest::new().with_key("k"),
            PickRequest::new().with_missing_key(missing_key),
        ] {
            let before = balancer.status().counters.picks_overloaded;
            let mut running = Vec::new();
            for _ in 0..8 {
                let decision = balancer.pick(&request).expect("there is room");
                for candidate in decision.candidates() {
                    assert!(candidate.in_flight() < 2, "{request:?}: {candidate:?}");
                }
                running.push(decision.first().try_begin().expect("it has room"));
            }
            let error = balancer.pick(&request).expect_err("all are full");
            assert!(error.is_temporary());
            assert_eq!(overload(error), Overload::Instances);
            assert_eq!(balancer.status().counters.picks_overloaded, before + 1);
            running.pop();
            balancer.pick(&request).expect("one has room again");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn both_limits_on_an_instance_hold_together() {
    let config = BalancerConfig::default().with_concurrency(each(3));
    let config = config.with_hash_balance_factor(10_000).expect("in range");
    let registry = registry((0..4).map(instance));
    let balancer = balancer(&registry, config).await;
    let running: Vec<_> = (0..12).map(|_| begin(&balancer, "hot")).collect();
    let mut loads = HashMap::new();
    for attempt in &running {
        *loads.entry(attempt.instance().id().clone()).or_insert(0) += 1;
    }
    assert!(loads.values().all(|load| *load == 3), "{loads:?}");
    let error = balancer.pick(&PickRequest::new().with_key("hot"));
    assert_eq!(overload(error.expect_err("full")), Overload::Instances);
}

/// Threads that take the last place at the same moment.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_limit_is_never_passed_however_many_begin_at_once() {
    const MOST: usize = 10;
    let balancer = limited(each(MOST as u64)).await;
    for _ in 0..50 {
        let decision = balancer.pick(&PickRequest::new().with_key("k"));
        let decision = decision.expect("nothing runs");
        let start = std::sync::Barrier::new(4);
        let begun: Vec<InFlight> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|_| {
                    scope.spawn(|| {
                        start.wait();
                        let begin = |_| decision.first().try_begin();
                        (0..MOST).filter_map(begin).collect::<Vec<_>>()
                    })
                })
                .collect();
            let begun = threads
                .into_iter()
                .flat_map(|t| t.join().expect("no panic"));
            begun.collect()
        });
        assert_eq!(begun.len(), MOST);
        assert_eq!(decision.first().in_flight(), MOST as u64);
        drop(begun);
        assert_eq!(decision.first().in_flight(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_queue_what_is_too_much_fails_at_once() {
    let balancer = limited(in_all(1, 0)).await;
    let permit = balancer.admit().await.expect("free");
    let start = Instant::now();
    for _ in 0..100 {
        let error = balancer.admit().await.expect_err("full");
        assert_eq!(overload(error), Overload::QueueFull);
    }
    assert_eq!(start.elapsed(), Duration::ZERO);
    let status = balancer.status();
    assert_eq!((status.admitted, status.queued), (1, 0));
    assert_eq!(status.counters.admissions_refused, 100);
    drop(permit);
    drop(balancer.admit().await.expect("free again"));
}

/// Callers in the order in which they are told to wait; each says when it is let in, and keeps its permit.
fn queue_up(
    balancer: &Balancer,
    callers: usize,
) -> Vec<tokio::task::JoinHandle<Result<(Instant, Permit), PickError>>> {
    let call = |_| {
        let balancer = balancer.clone();
        tokio::spawn(async move {
            let permit = balancer.admit().await?;
            Ok((Instant::now(), permit))
        })
    };
    (0..callers).map(call).collect()
}

#[tokio::test(start_paused = true)]
async fn those_who_wait_are_let_in_in_their_order() {
    let balancer = limited(in_all(1, 10)).await;
    let mut permit = Some(balancer.admit().await.expect("free"));
    let waiting = queue_up(&balancer, 3);
    settle().await;
    assert_eq!(balancer.status().queued, 3);
    for next in waiting {
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert!(!next.is_finished());
        drop(permit.take());
        let (_, place) = next.await.expect("no panic").expect("let in");
        permit = Some(place);
    }
    assert_eq!(balancer.status().queued, 0);
    // Nobody who comes later overtakes those who wait.
    let waiting = queue_up(&balancer, 1);
    settle().await;
    drop(permit.take());
    let late = balancer.admit();
    tokio::pin!(late);
    let first = tokio::select! {
        biased;
        _ = &mut late => panic!("it overtook"),
        first = waiting.into_iter().next().expect("one") => first,
    };
    drop(first);
    drop(late.await.expect("its turn"));
}

#[tokio::test(start_paused = true)]
async fn a_wait_ends_with_its_time_and_frees_its_place_in_the_queue() {
    let balancer = limited(in_all(1, 2)).await;
    let permit = balancer.admit().await.expect("free");
    let mut waiting = queue_up(&balancer, 2);
    settle().await;
    let error = balancer.admit().await.expect_err("two wait already");
    assert_eq!(overload(error), Overload::QueueFull);
    // One goes away, as a caller whose deadline passed: another may wait in its place.
    waiting.pop().expect("two").abort();
    settle().await;
    assert_eq!(balancer.status().queued, 1);
    let start = Instant::now();
    let error = balancer.admit().await.expect_err("no place comes free");
    assert_eq!(
        overload(error),
        Overload::QueueTimeout(Duration::from_secs(2))
    );
    assert_eq!(start.elapsed(), Duration::from_secs(2));
    let error = waiting.pop().expect("one").await.expect("no panic");
    assert!(error.is_err());
    assert_eq!(balancer.status().counters.admissions_timed_out, 2);
    assert_eq!(balancer.status().queued, 0);
    drop(permit);
    // The places of those who went away are not lost.
    drop(balancer.admit().await.expect("free"));
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_ends_the_waiting() {
    let balancer = limited(in_all(1, 2)).await;
    let _permit = balancer.admit().await.expect("free");
    let waiting = queue_up(&balancer, 2);
    settle().await;
    balancer.shutdown().await;
    for caller in waiting {
        let error = caller.await.expect("no panic").expect_err("closed");
        assert!(matches!(error, PickError::ShutDown { .. }), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_more_are_let_in_than_may_be_under_many_threads() {
    const MOST: usize = 3;
    let balancer = limited(in_all(MOST, 1_000)).await;
    let inside = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let calls: Vec<_> = (0..100)
        .map(|_| {
            let (balancer, inside) = (balancer.clone(), Arc::clone(&inside));
            tokio::spawn(async move {
                let _permit = balancer.admit().await.expect("there is a queue");
                let now = inside.fetch_add(1, std::sync::atomic::Ordering::SeqCst) + 1;
                tokio::task::yield_now().await;
                inside.fetch_sub(1, std::sync::atomic::Ordering::SeqCst);
                now
            })
        })
        .collect();
    for call in calls {
        assert!(call.await.expect("no panic") <= MOST);
    }
    let status = balancer.status();
    assert_eq!((status.admitted, status.queued), (0, 0));
}

#[test]
fn settings_out_of_their_range_are_refused() {
    let limits = ConcurrencyLimits::default;
    assert!(limits().with_max_in_flight(100_000_001).is_err());
    assert!(limits().with_max_queued(100_000_001).is_err());
    assert!(
        limits()
            .with_max_in_flight_per_instance(100_000_001)
            .is_err()
    );
    assert!(limits().with_queue_timeout(Duration::ZERO).is_err());
    assert!(
        limits()
            .with_queue_timeout(Duration::from_secs(3_601))
            .is_err()
    );
    let off = limits();
    assert_eq!(
        (off.max_in_flight(), off.max_in_flight_per_instance()),
        (0, 0)
    );
}

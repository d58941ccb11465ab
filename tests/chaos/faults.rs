//! Faults of every kind, one after the other (B16, B23, B26, B39).

use std::time::Duration;

use fastrand::Rng;
use ringfence::{BalancerConfig, OutlierConfig, RetryPolicy};
use ringfence_testkit::ScriptedDiscovery;
use tokio::{sync::oneshot, time::Instant};

use crate::{
    client::{balancer, echo, held, let_go, owners, runtime, seed, variable},
    director::Director,
    fleet::Fleet,
    load::{self, Fate, Kind, Mix, Records},
};

const RATE: u32 = 300;
const INSTANCES: usize = 6;
/// After the last fault.
const BACK_WITHIN: Duration = Duration::from_secs(5);

/// Any instance may be the last one, so an attempt for each; ejections that end while the test looks on.
fn config() -> BalancerConfig {
    let outlier = OutlierConfig::default()
        .with_max_ejection_percent(50)
        .and_then(|outlier| outlier.with_base_ejection_time(Duration::from_millis(500)))
        .and_then(|outlier| outlier.with_max_ejection_time(Duration::from_secs(2)))
        .unwrap();
    BalancerConfig::default()
        .with_outlier(outlier)
        .with_max_attempts(INSTANCES)
        .unwrap()
}

#[test]
fn nothing_that_may_be_sent_twice_fails() {
    runtime().block_on(async {
        let seed = seed();
        let seconds = variable("RINGFENCE_CHAOS_SECONDS").unwrap_or(50);
        let mut fleet = Fleet::start(INSTANCES);
        let before = held();
        let registry = ScriptedDiscovery::new();
        registry.push_instances(fleet.instances());
        let balancer = balancer(registry.clone(), config()).await;
        let retry = RetryPolicy::default().with_per_try_timeout(Duration::from_millis(300));
        let echo = echo(&balancer, retry);
        let right = owners(&echo).await;
        let at_first = balancer.status().counters;

        let records = Records::default();
        let (done, over) = oneshot::channel();
        let mix = Mix { idempotent: 7, once: 1, stream: 2 };
        let load = tokio::spawn(load::run(echo.clone(), RATE, mix, Rng::with_seed(seed), records.clone(), async {
            let _ = over.await;
        }));
        let mut director = Director { fleet: &mut fleet, registry: &registry, rng: Rng::with_seed(seed), start: Instant::now() };
        director.play(Duration::from_secs(seconds)).await;
        let start = director.start;

        let healed = Instant::now();
        let back = loop {
            let now = owners(&echo).await;
            let astray = now.iter().filter(|(key, owner)| right.get(key) != Some(owner)).count();
            if astray == 0 {
                break healed.elapsed();
            }
            assert!(healed.elapsed() < BACK_WITHIN, "{astray} keys are not back on their owner: {:#?}", balancer.status());
        };
        done.send(()).unwrap();
        load.await.unwrap();

        let counters = balancer.status().counters;
        let (requests, granted) = (counters.picks - at_first.picks, counters.hops_granted - at_first.hops_granted);
        println!("{records}");
        println!("{requests} requests, {granted} hops within the budget, {} free ones; all keys back after {back:?}", counters.hops_free);
        println!("{counters:?}");
        for kind in [Kind::Idempotent, Kind::Stream] {
            assert_eq!(records.count(kind, Fate::Failed), 0, "{kind:?}: {:#?}", records.errors(kind));
        }
        let floor = 3 * (start.elapsed().as_secs() + 1);
        assert!(granted <= requests / 5 + floor, "{granted} hops of {requests} requests");
        // Every instance is let go of, so nothing is in flight on any of them.
        let left = balancer.shutdown_within(Duration::from_secs(2)).await;
        assert_eq!(left, 0, "instances with something in flight");
        drop((echo, balancer, registry));
        let_go(before).await;
    });
}

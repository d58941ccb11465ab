//! All instances say no, to everything (B55).

use std::time::Duration;

use fastrand::Rng;
use ringfence::{BalancerConfig, RetryPolicy, StaticDiscovery};
use ringfence_tests::client::service;
use tokio::{
    sync::oneshot,
    time::{Instant, sleep},
};

use crate::{
    client::{balancer, echo, runtime, seed},
    fleet::Fleet,
    load::{self, Fate, Mix, Records},
};

const RATE: u32 = 1_000;
const INSTANCES: usize = 6;

#[test]
fn a_storm_stays_within_the_budget_and_ends_with_its_cause() {
    runtime().block_on(async {
        let mut fleet = Fleet::start(INSTANCES);
        let source = StaticDiscovery::new().with_service(service(), fleet.instances());
        let balancer = balancer(source, BalancerConfig::default()).await;
        let records = Records::default();
        let (done, over) = oneshot::channel();
        let mix = Mix { idempotent: 1, once: 0, stream: 0 };
        let echo = echo(&balancer, RetryPolicy::default());
        let load = tokio::spawn(load::run(echo, RATE, mix, Rng::with_seed(seed()), records.clone(), async {
            let _ = over.await;
        }));
        let start = Instant::now();
        sleep(Duration::from_secs(2)).await;
        for place in 0..fleet.len() {
            fleet.order(place, "status 14");
        }
        sleep(Duration::from_secs(10)).await;
        for place in 0..fleet.len() {
            fleet.order(place, "well");
        }
        let healed = Instant::now();
        sleep(Duration::from_secs(4)).await;
        done.send(()).unwrap();
        load.await.unwrap();

        let counters = balancer.status().counters;
        let recovered = records.all().into_iter().filter(|record| record.fate == Fate::Failed);
        let recovered = recovered.map(|record| record.at).max().unwrap();
        let recovery = recovered.saturating_duration_since(healed);
        println!("{records}");
        println!(
            "{} requests, {} attempts, {} hops denied; the last call that failed began {recovery:?} after the end",
            counters.picks,
            counters.picks + counters.hops_granted,
            counters.hops_denied,
        );
        let floor = 3 * (start.elapsed().as_secs() + 1);
        assert!(counters.hops_granted <= counters.picks / 5 + floor, "{counters:?}");
        assert!(counters.hops_denied > 0, "a storm that nothing had to hold back: {counters:?}");
        assert!(recovery <= Duration::from_secs(2), "{recovery:?}");
    });
}

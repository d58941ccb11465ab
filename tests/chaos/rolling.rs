//! Rolling restarts of all instances, which nobody tells the client of.

use std::time::Duration;

use fastrand::Rng;
use ringfence::{BalancerConfig, RetryPolicy, StaticDiscovery};
use ringfence_echo::EchoClient;
use ringfence_tests::client::service;
use tokio::{sync::oneshot, time::sleep};
use tonic::{
    body::Body,
    client::GrpcService,
    codegen::{Body as HttpBody, Bytes, StdError},
    transport::{Channel, Endpoint},
};

use crate::{
    client::{balancer, echo, runtime, seed},
    fleet::Fleet,
    load::{self, Fate, Kind, Mix, Records},
};

const RATE: u32 = 300;
const INSTANCES: usize = 6;
const ROUNDS: usize = 10;

/// Every other instance is killed, the others may end what runs.
async fn restarts<T>(fleet: &mut Fleet, client: EchoClient<T>, seed: u64) -> Records
where
    T: GrpcService<Body, Future: Send> + Clone + Send + 'static,
    T::Error: Into<StdError>,
    T::ResponseBody: HttpBody<Data = Bytes, Error: Into<StdError> + Send> + Send + 'static,
{
    let records = Records::default();
    let (done, over) = oneshot::channel();
    let mix = Mix {
        idempotent: 8,
        once: 1,
        stream: 1,
    };
    let load = tokio::spawn(load::run(
        client,
        RATE,
        mix,
        Rng::with_seed(seed),
        records.clone(),
        async {
            let _ = over.await;
        },
    ));
    sleep(Duration::from_millis(500)).await;
    for round in 0..ROUNDS {
        for place in 0..fleet.len() {
            if (round + place) % 2 == 0 {
                fleet.kill(place);
            } else {
                fleet.stop(place);
            }
            sleep(Duration::from_millis(50)).await;
            fleet.launch(place);
            sleep(Duration::from_millis(50)).await;
        }
    }
    done.send(()).unwrap();
    load.await.unwrap();
    records
}

#[test]
fn ten_rolling_restarts_fail_no_call_that_may_be_sent_twice() {
    runtime().block_on(async {
        let seed = seed();
        let mut fleet = Fleet::start(INSTANCES);
        let source = StaticDiscovery::new().with_service(service(), fleet.instances());
        let balancer = balancer(source, BalancerConfig::default()).await;
        let ours = restarts(&mut fleet, echo(&balancer, RetryPolicy::default()), seed).await;

        let endpoints = (0..fleet.len()).map(|place| {
            let endpoint =
                Endpoint::from_shared(format!("http://{}", fleet.address(place))).unwrap();
            endpoint.connect_timeout(Duration::from_secs(1))
        });
        let channel = Channel::balance_list(endpoints);
        let theirs = restarts(&mut fleet, EchoClient::new(channel), seed).await;
        println!("{ROUNDS} rolling restarts of {INSTANCES} instances at {RATE} requests a second");
        println!("ringfence:    {ours}");
        println!("balance_list: {theirs}");
        println!("ringfence: {:?}", balancer.status().counters);
        for kind in [Kind::Idempotent, Kind::Stream] {
            assert_eq!(
                ours.count(kind, Fate::Failed),
                0,
                "{kind:?}: {:#?}",
                ours.errors(kind)
            );
        }
    });
}

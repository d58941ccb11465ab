//! The client under test, and what is left of it.

use std::{collections::BTreeMap, env, fs, str::FromStr, time::Duration};

use ringfence::{
    Balancer, BalancerConfig, Discovery, KeySource, RetryPolicy, RingfenceLayer, TonicConnector,
};
use ringfence_echo::EchoClient;
use ringfence_tests::client::{Echo, service};
use tokio::runtime::{Builder, Handle, Runtime};

use crate::load::{KEYS, request};

pub(crate) fn runtime() -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
}

pub(crate) async fn balancer(source: impl Discovery, config: BalancerConfig) -> Balancer {
    let balancer = Balancer::builder(source, service())
        .with_config(config)
        .build()
        .unwrap();
    balancer.ready().await.unwrap();
    balancer
}

pub(crate) fn echo(balancer: &Balancer, retry: RetryPolicy) -> Echo {
    let layer = RingfenceLayer::new(balancer.clone())
        .with_key(KeySource::extension())
        .with_retry(retry);
    EchoClient::new(layer.wrap(TonicConnector::new()))
}

/// Who serves each key.
pub(crate) async fn owners(echo: &Echo) -> BTreeMap<usize, String> {
    let mut owners = BTreeMap::new();
    for number in 0..KEYS {
        let answer = echo.clone().unary(request(number, true)).await;
        owners.insert(
            number,
            answer.map_or_else(
                |status| status.to_string(),
                |answer| answer.into_inner().instance,
            ),
        );
    }
    owners
}

/// Repeats those draws of a run that are not faults.
pub(crate) fn seed() -> u64 {
    let seed = variable("RINGFENCE_CHAOS_SEED").unwrap_or_else(|| fastrand::u64(..));
    println!("RINGFENCE_CHAOS_SEED={seed}");
    seed
}

pub(crate) fn variable<T: FromStr>(name: &str) -> Option<T> {
    env::var(name).ok()?.parse().ok()
}

/// What this process holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) tasks: usize,
    pub(crate) sockets: usize,
}

pub(crate) fn held() -> Held {
    let descriptors = fs::read_dir("/proc/self/fd").unwrap();
    let is_socket = |entry: &fs::DirEntry| {
        fs::read_link(entry.path())
            .is_ok_and(|target| target.to_string_lossy().starts_with("socket:"))
    };
    Held {
        tasks: Handle::current().metrics().num_alive_tasks(),
        sockets: descriptors.flatten().filter(is_socket).count(),
    }
}

/// Waits until no more is held than before.
pub(crate) async fn let_go(before: Held) {
    let limit = tokio::time::Instant::now() + Duration::from_secs(5);
    loop {
        let now = held();
        if now.tasks <= before.tasks && now.sockets <= before.sockets {
            return;
        }
        assert!(
            tokio::time::Instant::now() < limit,
            "{now:?} is left, {before:?} was before"
        );
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

//! Something to see on the dashboard of `docker-compose.yml`: six tonic servers, a client that calls them all the time, and faults
//! that follow each other. The metrics are on `http://127.0.0.1:9464/metrics`, in the format of Prometheus.
//!
//! ```console
//! $ cargo run --example metrics                              # until Ctrl-C
//! $ cargo run --example metrics -- --seconds 30              # ends by itself
//! $ cargo run --example metrics -- --host 172.17.0.1         # where containers of this machine find it, on Linux
//! ```
#![allow(clippy::print_stdout, reason = "it shows what it does")]

mod faults;
mod flags;
mod fleet;
mod page;
mod traffic;

use std::{process::ExitCode, time::Duration};

use ringfence::{
    Balancer, BalancerConfig, HotKeysConfig, Metrics, OutlierConfig, PolicyContext, PolicyDocument,
    RetryBudgetConfig, RingfenceLayer, TcpProbe, TonicConnector, WatchConfig,
};
use ringfence_echo::EchoClient;
use ringfence_examples::BoxError;
use tokio::net::TcpListener;

use crate::{flags::Flags, fleet::Fleet};

/// One key in ten is in the release, and one in ten goes to the other zone.
const POLICY: &str = "
ringfence: 1
zone: { prefer_local: true, spill_permille: { az-1: 100 } }
gray:
  echo-v2: { to: { version: gray }, percent: 10 }
tenants:
  acme: { mode: dedicated, strict: true }
rules:
  - name: users
    match: [{ headers: { x-user: { present: true } } }]
    key: [{ header: x-user }]
    gray: [echo-v2]
  - name: others
";

#[tokio::main]
async fn main() -> ExitCode {
    let flags = match Flags::read() {
        Ok(flags) => flags,
        Err(code) => return code,
    };
    match run(&flags).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("failed: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(flags: &Flags) -> Result<(), BoxError> {
    let listener = TcpListener::bind((flags.host, flags.port)).await?;
    println!("metrics on http://{}/metrics", listener.local_addr()?);

    let metrics = Metrics::new().with_instances(100);
    let mut fleet = Fleet::start().await?;
    let balancer = balancer(&fleet, &metrics).await?;
    let layer = RingfenceLayer::new(balancer.clone());
    let client = EchoClient::new(layer.wrap(TonicConnector::new()));

    let work = async {
        tokio::select! {
            error = page::serve(listener, &metrics) => Err(error),
            () = traffic::run(&client) => Ok(()),
            outcome = faults::run(&mut fleet) => outcome,
            () = over(flags.seconds) => Ok(()),
        }
    };
    work.await?;
    balancer.shutdown().await;
    let counters = balancer.status().counters;
    println!(
        "{} decisions, {} ejections, {} hops granted, {} denied",
        counters.picks, counters.ejections, counters.hops_granted, counters.hops_denied
    );
    Ok(())
}

async fn balancer(fleet: &Fleet, metrics: &Metrics) -> Result<Balancer, BoxError> {
    // Shorter than usual, so that there is something to see soon.
    let outlier = OutlierConfig::default()
        .with_base_ejection_time(Duration::from_secs(4))?
        .with_max_ejection_percent(40)?;
    // One request in sixteen is looked at, and below a hundred of these nothing is called hot.
    let hot_keys = HotKeysConfig::default().with_half_life(Duration::from_secs(30))?;
    let config = BalancerConfig::default()
        .with_outlier(outlier)
        .with_hash_balance_factor(150)?
        .with_hot_keys(hot_keys)
        .with_retry_budget(RetryBudgetConfig::default().with_percent(5)?)
        .with_watch(WatchConfig::default().with_empty_hold(Duration::from_secs(3))?);
    let context = PolicyContext::new().with_zone("az-1");
    Ok(Balancer::builder(fleet.source()?, "echo")
        .with_config(config)
        .with_policy(PolicyDocument::parse_and_compile(POLICY, &context)?)
        .with_probe(TcpProbe)
        .with_observer(metrics.clone())
        .build_ready()
        .await?)
}

/// Ends with the time, or with Ctrl-C.
async fn over(seconds: Option<u64>) {
    let time = async {
        match seconds {
            Some(seconds) => tokio::time::sleep(Duration::from_secs(seconds)).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        () = time => {}
        // Where no signal can be heard, the time alone ends it.
        Ok(()) = tokio::signal::ctrl_c() => {}
    }
}

//! How long a change in a real registry takes until a balancer's view shows it, beside the notification of the registry's own
//! client for the same change.
//!
//! `cargo bench -p ringfence-tests --bench change_to_view` takes less than two minutes. Changes are made one at a time: the next
//! one when all have seen the last. One instance changes its weight, which a view may hold back for its merge window, so there
//! are two views: one of a balancer that applies everything at once, and one on default settings (200 ms).

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a benchmark tells its figures"
)]

mod native;
mod sight;
mod table;

use std::{io, process::ExitCode, time::Duration};

use ringfence::{Balancer, BalancerConfig, Instance};
use ringfence_tests::{
    client::service,
    registry::{OnConsul, OnEtcd, OnNacos, Registry},
};
use tokio::{
    sync::mpsc::{UnboundedReceiver, unbounded_channel},
    time::{Instant, sleep_until, timeout_at},
};

use self::{
    native::Native,
    sight::{Sighting, Told, Views, Who},
    table::{Change, Table},
};

/// A change that nobody sees for this long ends the benchmark.
const PATIENCE: Duration = Duration::from_secs(20);

fn main() -> ExitCode {
    let outcome = tokio::runtime::Runtime::new().and_then(|runtime| {
        runtime.block_on(async {
            let mut table = Table::default();
            table.add(OnConsul::NAME, measure::<OnConsul>().await?);
            table.add(OnEtcd::NAME, measure::<OnEtcd>().await?);
            table.add(OnNacos::NAME, measure::<OnNacos>().await?);
            Ok(table)
        })
    });
    match outcome {
        Ok(table) => {
            println!("{table}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("change_to_view: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn measure<R: Native>() -> io::Result<Vec<Change>> {
    eprintln!("{}: {} changes ...", R::NAME, R::CHANGES);
    let registry = R::start().await?;
    registry.put(&weighing(100)?).await?;
    let (sender, mut sightings) = unbounded_channel();
    let at_once = BalancerConfig::default().with_update_merge_window(Duration::ZERO);
    let at_once = balancer(&registry, at_once.map_err(io::Error::other)?).await?;
    let merging = balancer(&registry, BalancerConfig::default()).await?;
    let _views = Views::watch([
        (at_once, Told::new(Who::AtOnce, &sender)),
        (merging, Told::new(Who::Merging, &sender)),
    ])?;
    let _native = registry.listen(Told::new(Who::Client, &sender)).await?;
    let mut changes = Vec::new();
    for number in 0..=R::CHANGES {
        let weight = 101 + number;
        let instance = weighing(weight)?;
        let sent = Instant::now();
        registry.put(&instance).await?;
        let acknowledged = Instant::now();
        let seen = all_see(weight, &mut sightings).await;
        let seen = seen.map_err(|error| io::Error::other(format!("{}: {error}", R::NAME)))?;
        // The first one finds connections and caches cold.
        if number > 0 {
            changes.push(Change::new(sent, acknowledged, seen));
        }
        // Not in step with anybody's timers.
        let spread = Duration::from_millis(u64::from(number) * 7 % 40);
        sleep_until(sent + R::PERIOD + spread).await;
    }
    Ok(changes)
}

fn weighing(weight: u32) -> io::Result<Instance> {
    let instance = Instance::builder("a", "127.0.0.1:80").weight(weight);
    instance.build().map_err(io::Error::other)
}

async fn balancer(registry: &impl Registry, config: BalancerConfig) -> io::Result<Balancer> {
    let balancer = Balancer::builder(registry.discovery()?, service()).with_config(config);
    let balancer = balancer.build().map_err(io::Error::other)?;
    balancer.ready().await.map_err(io::Error::other)?;
    Ok(balancer)
}

/// When the client's notification and the two views had this weight.
async fn all_see(
    weight: u32,
    sightings: &mut UnboundedReceiver<Sighting>,
) -> Result<[Instant; 3], String> {
    let end = Instant::now() + PATIENCE;
    let mut seen = [None; 3];
    loop {
        if let [Some(client), Some(at_once), Some(merging)] = seen {
            return Ok([client, at_once, merging]);
        }
        let Ok(Some(sighting)) = timeout_at(end, sightings.recv()).await else {
            return Err(format!("weight {weight} was seen by {seen:?} only"));
        };
        if sighting.weight == weight {
            seen[sighting.who as usize].get_or_insert(sighting.at);
        }
    }
}

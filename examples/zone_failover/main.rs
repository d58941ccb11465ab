//! Zones: clients stay in their own zone, and where too little of it is left, a share of the keys goes to the others: the
//! same ones from every client. Nine tonic servers in three zones, two clients in one of them, and crashes. It checks every
//! claim itself; the exit code is not zero where one does not hold.
//!
//! Run it with `cargo run --example zone_failover`.

mod scenes;

use std::process::ExitCode;

use ringfence::{BalancerBuilder, PolicyContext, PolicyDocument};
use ringfence_examples::{BoxError, Client, Cluster, Report};

const POLICY: &str = "
ringfence: 1
zone: { prefer_local: true, overprovisioning_factor: 140 }
rules:
  - name: all
    key: [{ header: x-user }]
";
/// Where both clients are.
const HOME: &str = "az-1";

#[tokio::main]
async fn main() -> ExitCode {
    ringfence_examples::judge(run).await
}

async fn run(report: &mut Report) -> Result<(), BoxError> {
    let mut cluster = Cluster::default();
    for zone in ["az-1", "az-2", "az-3"] {
        for letter in ["a", "b", "c"] {
            let id = format!("{zone}{letter}");
            cluster.start(&id, |instance| instance.zone(zone)).await?;
        }
    }
    let policy = PolicyDocument::parse(POLICY)?;
    let context = PolicyContext::new().with_zone(HOME);
    // Each client is a process of its own in production; all they have in common is what the registry says.
    let (one, other) = (policy.compile(&context)?, policy.compile(&context)?);
    let configure = |policy| |balancer: BalancerBuilder| balancer.with_policy(policy);
    let clients = [
        Client::connect(&cluster, configure(one)).await?,
        Client::connect(&cluster, configure(other)).await?,
    ];
    scenes::play(&mut cluster, &clients, report).await?;
    for client in &clients {
        client.balancer().shutdown().await;
    }
    Ok(())
}

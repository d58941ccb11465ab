//! Tenants that are kept apart: one has instances of its own, one a ring of its own, the others a few of the shared instances
//! each, so that what one of them breaks is not broken for all. Eight tonic servers, and crashes. It checks every claim itself;
//! the exit code is not zero where one does not hold.
//!
//! Run it with `cargo run --example tenant_isolation`.

mod callers;
mod scenes;

use std::process::ExitCode;

use ringfence::{PolicyContext, PolicyDocument, TagAuthority};
use ringfence_examples::{BoxError, Client, Cluster, Report};

use crate::callers::Callers;

const POLICY: &str = "
ringfence: 1
tenants:
  acme:    { mode: dedicated, strict: true }
  globex:  { mode: own_ring }
  initech: { mode: shared }
  default: { mode: shuffle_shard, size: 2 }
rules:
  - name: all
    key: [{ header: x-user }]
";
const DEDICATED: [&str; 2] = ["acme-1", "acme-2"];
const SHARED: [&str; 6] = [
    "shared-1", "shared-2", "shared-3", "shared-4", "shared-5", "shared-6",
];

#[tokio::main]
async fn main() -> ExitCode {
    ringfence_examples::judge(run).await
}

async fn run(report: &mut Report) -> Result<(), BoxError> {
    let mut cluster = Cluster::default();
    for id in SHARED {
        cluster.start(id, |instance| instance).await?;
    }
    for id in DEDICATED {
        cluster
            .start(id, |instance| instance.tenant("acme"))
            .await?;
    }
    // Who the tenant of a request is, only this says; a program keeps it where it authenticates its callers.
    let authority = TagAuthority::new();
    let context = PolicyContext::new().with_authority(&authority);
    let policy = PolicyDocument::parse_and_compile(POLICY, &context)?;
    let client = Client::connect(&cluster, |balancer| balancer.with_policy(policy)).await?;
    let callers = Callers { client, authority };

    scenes::apart(&callers, report).await?;
    scenes::shards(&mut cluster, &callers, report).await?;
    scenes::dedicated_dies(&mut cluster, &callers, report).await?;
    callers.client.balancer().shutdown().await;
    Ok(())
}

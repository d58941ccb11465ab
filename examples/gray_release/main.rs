//! A gray release on running traffic: the policy is a file, which is rewritten while calls run, from 5 % of the users over
//! 20 % to all of them, and to a stop. Eight tonic servers, and a table of who was where. It checks every claim itself; the
//! exit code is not zero where one does not hold.
//!
//! Run it with `cargo run --example gray_release`.

mod policy_file;
mod rounds;
mod scenes;
mod traffic;

use std::process::ExitCode;

use ringfence_examples::{BoxError, Client, Cluster, Report};

use crate::policy_file::PolicyFile;

#[tokio::main]
async fn main() -> ExitCode {
    ringfence_examples::judge(run).await
}

async fn run(report: &mut Report) -> Result<(), BoxError> {
    let mut cluster = Cluster::default();
    for n in 1..=6 {
        let id = format!("stable-{n}");
        cluster
            .start(&id, |instance| instance.version("stable"))
            .await?;
    }
    for n in 1..=2 {
        let id = format!("gray-{n}");
        cluster
            .start(&id, |instance| instance.version("gray"))
            .await?;
    }
    let file = PolicyFile::create()?;
    let (source, context) = (file.source()?, file.context());
    let client = Client::connect(&cluster, |balancer| {
        balancer.with_policy_source(source, context)
    })
    .await?;
    scenes::play(&file, &client, report).await?;
    client.balancer().shutdown().await;
    Ok(())
}

//! The main job of Ringfence on real traffic, in one process: eight tonic servers on loopback ports, an in-memory registry,
//! and a generated tonic client wrapped in the layer. It prints a report and checks every claim in it itself; the exit code
//! is not zero where one does not hold.
//!
//! Run it with `cargo run --example quickstart`. It needs no registry, no protoc and no Docker.

mod client;
mod fleet;
mod scenes;

use std::{process::ExitCode, time::Instant};

use ringfence_examples::Report;

use crate::{client::Client, fleet::Fleet};

#[tokio::main]
async fn main() -> ExitCode {
    let started = Instant::now();
    let mut report = Report::default();
    if let Err(error) = run(&mut report).await {
        report.fail(&format!("the run ended early: {error}"));
    }
    report.end(started.elapsed())
}

async fn run(report: &mut Report) -> Result<(), Box<dyn std::error::Error>> {
    let mut fleet = Fleet::start().await?;
    let client = Client::connect(&fleet)?;
    client.balancer().ready().await?;

    let homes = scenes::affinity(&client, &fleet, report).await?;
    scenes::zones(&client, &fleet, report).await?;
    let homes = scenes::scale_out(&client, &mut fleet, &homes, report).await?;
    let after_kill = scenes::kill_under_load(&client, &mut fleet, &homes, report).await?;
    scenes::come_back(&client, &mut fleet, &homes, &after_kill, report).await?;

    client.balancer().shutdown().await;
    Ok(())
}

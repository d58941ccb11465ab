//! The admin page over a fleet that lives: eight tonic servers on loopback ports, an in-memory registry, steady traffic with a
//! few keys that come often, and somebody who crashes servers, adds and removes some, and turns weights. Open the address
//! that it prints.
//!
//! Run it with `cargo run --example admin`; `--port PORT` chooses the port of the page, and `--seconds N` ends it by itself: then
//! it asks for the page and its documents first, and the exit code is not zero where one does not answer as it must.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "it is a program that people run"
)]

mod director;
mod flags;
mod probe;
mod traffic;

use std::{net::Ipv4Addr, process::ExitCode, time::Duration};

use ringfence::{Admin, Metrics, PolicyContext, PolicyDocument};
use ringfence_examples::{BoxError, Client, Cluster};
use tokio::time::{sleep, timeout};

use crate::flags::Flags;

/// Users of the release `checkout-v2` get to gray instances; while none of these is usable, to stable ones.
const POLICY: &str = "
ringfence: 1
gray:
  checkout-v2: { to: { version: gray }, percent: 10 }
rules:
  - name: users
    key: [{ header: x-user }]
    gray: [checkout-v2]
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
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(flags: &Flags) -> Result<(), BoxError> {
    let mut cluster = Cluster::default();
    for (n, zone) in (1..=6).zip(["zone-a", "zone-b"].iter().cycle()) {
        let id = format!("stable-{n}");
        cluster
            .start(&id, |instance| instance.version("stable").zone(*zone))
            .await?;
    }
    for (n, zone) in (1..=2).zip(["zone-a", "zone-b"]) {
        let id = format!("gray-{n}");
        cluster
            .start(&id, |instance| instance.version("gray").zone(zone))
            .await?;
    }
    let policy = PolicyDocument::parse_and_compile(POLICY, &PolicyContext::new())?;
    let metrics = Metrics::new();
    let client = Client::connect(&cluster, |balancer| {
        balancer.with_policy(policy).with_observer(metrics.clone())
    })
    .await?;

    // This is all that a program does to have the page. Dropping the server ends it.
    let admin = Admin::new().with_balancer(client.balancer());
    let admin = admin.with_metrics(move || metrics.render());
    let server = admin
        .serve((Ipv4Addr::LOCALHOST, flags.port).into())
        .await?;
    let address = server.local_addr();
    println!("the page is at http://{address}/");

    let calls = traffic::flow(&client);
    let events = director::play(&mut cluster);
    match flags.seconds {
        None => {
            println!("end it with Ctrl-C");
            tokio::select! {
                ended = tokio::signal::ctrl_c() => ended?,
                () = calls => {}
                failed = events => failed?,
            }
        }
        Some(seconds) => {
            let probed = async {
                sleep(Duration::from_secs(seconds)).await;
                probe::documents(address).await
            };
            tokio::select! {
                outcome = timeout(Duration::from_secs(seconds.saturating_add(20)), probed) => outcome??,
                () = calls => {}
                failed = events => failed?,
            }
            println!("the page and its documents answered as they must");
        }
    }
    Ok(())
}

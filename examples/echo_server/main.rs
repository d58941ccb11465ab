//! One echo server, to have something to call by hand.
//!
//! ```console
//! $ cargo run --example echo_server -- --id order-1 --port 50051
//! order-1 listens on 127.0.0.1:50051
//! ```
//!
//! Without `--port` the system chooses a free one. Ctrl-C or SIGTERM let running calls end first.
//!
//! It registers itself with real registries, which the features `consul`, `nacos` and `etcd` bring, and takes itself out before it
//! ends:
//!
//! ```console
//! $ eval "$(tests/registries/up)"
//! $ cargo run --example echo_server --features consul,etcd -- --register consul,etcd --service order --version gray
//! ```
//!
//! Where they are and with which credentials is in the environment, as for the examples `consul_tonic`, `nacos_hyper` and
//! `etcd_tonic`.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it is a command")]

mod flags;
mod register;

use std::{net::SocketAddr, process::ExitCode, time::Duration};

use ringfence::{Instance, discovery::Registration};
use ringfence_echo::EchoServer;
use ringfence_examples::BoxError;

use self::flags::Flags;

/// How long running calls may take at the end.
const DRAIN: Duration = Duration::from_secs(5);

#[tokio::main]
async fn main() -> ExitCode {
    let flags = match Flags::read() {
        Ok(flags) => flags,
        Err(code) => return code,
    };
    match serve(&flags).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}: {error}", flags.id);
            ExitCode::FAILURE
        }
    }
}

async fn serve(flags: &Flags) -> Result<(), BoxError> {
    let registrars = register::registrars(&flags.registries)?;
    let address = SocketAddr::from((flags.host, flags.port));
    let server = EchoServer::bind_to(&flags.id, address)
        .await
        .map_err(|error| format!("port {}: {error}", flags.port))?;
    println!("{} listens on {}", server.id(), server.address());

    let mut registrations = Vec::new();
    if !registrars.is_empty() {
        let instance = instance(flags, server.address())?;
        for registrar in registrars {
            let name = registrar.name().to_owned();
            let registration = registrar
                .register(&flags.service, instance.clone())
                .await
                .map_err(|error| format!("{name}: {error}"))?;
            // It may have to wait for its registry; then it goes on trying.
            let state = registration.state();
            println!(
                "{} with {name} as {}: {state:?}",
                server.id(),
                flags.service
            );
            registrations.push(registration);
        }
        println!("{} is announced", server.id());
    }

    told_to_end().await?;
    let outcome = leave(registrations).await;
    println!("{} stops after {} requests", server.id(), server.requests());
    if tokio::time::timeout(DRAIN, server.stop()).await.is_err() {
        println!("some calls were cut");
    }
    outcome
}

fn instance(flags: &Flags, bound: SocketAddr) -> Result<Instance, BoxError> {
    let address = flags.advertise.clone().unwrap_or_else(|| bound.to_string());
    let mut instance = Instance::builder(&flags.id, address);
    if let Some(version) = &flags.version {
        instance = instance.version(version);
    }
    if let Some(zone) = &flags.zone {
        instance = instance.zone(zone);
    }
    Ok(instance.build()?)
}

/// Out of every registry, all at once, before the first call is refused.
async fn leave(registrations: Vec<Registration>) -> Result<(), BoxError> {
    let leaving: Vec<_> = registrations
        .into_iter()
        .map(|registration| tokio::spawn(registration.deregister()))
        .collect();
    let mut outcome = Ok(());
    for left in leaving {
        outcome = outcome.and(left.await?);
    }
    Ok(outcome?)
}

#[cfg(unix)]
async fn told_to_end() -> Result<(), BoxError> {
    use tokio::signal::unix::{SignalKind, signal};

    // What service managers and container engines send.
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        interrupted = tokio::signal::ctrl_c() => interrupted?,
        _ = terminate.recv() => {}
    }
    Ok(())
}

#[cfg(not(unix))]
async fn told_to_end() -> Result<(), BoxError> {
    Ok(tokio::signal::ctrl_c().await?)
}

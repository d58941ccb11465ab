//! One echo server, to have something to call by hand.
//!
//! ```console
//! $ cargo run --example echo_server -- --id order-1 --port 50051
//! order-1 listens on 127.0.0.1:50051
//! ```
//!
//! Without `--port` the system chooses a free one. Ctrl-C lets running calls end first.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it is a command")]

use std::{
    env,
    error::Error,
    net::{Ipv4Addr, SocketAddr},
    process::ExitCode,
    time::Duration,
};

use ringfence_echo::EchoServer;

const USAGE: &str = "usage: echo_server [--id ID] [--port PORT]";

/// How long running calls may take after Ctrl-C.
const DRAIN: Duration = Duration::from_secs(5);

struct Flags {
    id: String,
    port: u16,
}

#[tokio::main]
async fn main() -> ExitCode {
    let flags = match Flags::parse(env::args().skip(1)) {
        Ok(Some(flags)) => flags,
        Ok(None) => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        Err(message) => {
            eprintln!("{message}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match serve(&flags).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("port {}: {error}", flags.port);
            ExitCode::FAILURE
        }
    }
}

async fn serve(flags: &Flags) -> Result<(), Box<dyn Error>> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, flags.port));
    let server = EchoServer::bind_to(&flags.id, address).await?;
    println!("{} listens on {}", server.id(), server.address());

    tokio::signal::ctrl_c().await?;
    println!("{} stops after {} requests", server.id(), server.requests());
    if tokio::time::timeout(DRAIN, server.stop()).await.is_err() {
        println!("some calls were cut");
    }
    Ok(())
}

impl Flags {
    /// `None` stands for a call for help.
    fn parse(mut args: impl Iterator<Item = String>) -> Result<Option<Self>, String> {
        let mut flags = Self {
            id: "echo-1".to_owned(),
            port: 0,
        };
        while let Some(flag) = args.next() {
            let mut value = || args.next().ok_or_else(|| format!("{flag} needs a value"));
            match flag.as_str() {
                "--id" => flags.id = value()?,
                "--port" => {
                    let port = value()?;
                    flags.port = port.parse().map_err(|_| format!("{port} is no port"))?;
                }
                "--help" | "-h" => return Ok(None),
                _ => return Err(format!("{flag} is unknown")),
            }
        }
        Ok(Some(flags))
    }
}

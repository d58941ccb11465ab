//! One instance of the chaos tests: `chaos_server ID ADDRESS` serves echo there, and does what the lines of its standard input
//! say.
//!
//! `well`, `slow MILLISECONDS`, `status CODE`, `reset` and `cut` set its fault, `goaway` says GOAWAY on its connections, and
//! `stop` lets it end what runs and ends it. It says `ready` once it listens, and ends with its parent.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "its parent reads them"
)]

use std::{env, io, net::SocketAddr, process::ExitCode, time::Duration};

use nix::sys::{prctl::set_pdeathsig, signal::Signal};
use ringfence_echo::{EchoServer, Fault};
use tokio::io::{AsyncBufReadExt as _, BufReader};

fn main() -> ExitCode {
    let outcome = set_pdeathsig(Signal::SIGKILL)
        .map_err(io::Error::from)
        .and_then(|()| {
            let mut runtime = tokio::runtime::Builder::new_current_thread();
            runtime.enable_all().build()?.block_on(serve())
        });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("chaos_server: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn serve() -> io::Result<()> {
    let mut arguments = env::args().skip(1);
    let id = arguments.next().ok_or_else(|| invalid("no id"))?;
    let address = arguments.next().ok_or_else(|| invalid("no address"))?;
    let address: SocketAddr = address.parse().map_err(io::Error::other)?;
    let server = EchoServer::bind_to(id, address).await?;
    println!("ready");
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Some(line) = lines.next_line().await? {
        match line.as_str() {
            "goaway" => server.go_away(),
            "stop" => {
                server.stop().await;
                return Ok(());
            }
            fault => server.set_fault(parse(fault)?),
        }
    }
    Ok(())
}

fn parse(fault: &str) -> io::Result<Fault> {
    let (name, number) = fault.split_once(' ').unwrap_or((fault, "0"));
    let number: u32 = number.parse().map_err(io::Error::other)?;
    match name {
        "well" => Ok(Fault::None),
        "slow" => Ok(Fault::Slow(Duration::from_millis(number.into()))),
        "status" => {
            let code = i32::try_from(number).map_err(io::Error::other)?;
            Ok(Fault::Status(code.into()))
        }
        "reset" => Ok(Fault::ResetStream),
        "cut" => Ok(Fault::CutConnection),
        _ => Err(invalid(fault)),
    }
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, what)
}

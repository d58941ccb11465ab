//! Ringfence beside its peers, in one run: ratios, not times, because machines differ and are noisy.
//!
//! ```sh
//! cargo run --release -p ringfence-bench                       # everything, as a table
//! cargo run --release -p ringfence-bench -- --json out.json    # and as JSON
//! cargo run --release -p ringfence-bench -- --steady --gate    # what noise cannot change; fails where a gate is missed
//! RINGFENCE_ENVOY=/path/to/envoy cargo run --release -p ringfence-bench -- --only grpc
//! ```
#![allow(
    clippy::expect_used,
    reason = "a benchmark of something else than it says must not go on"
)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it is a command")]

mod callgrind;
mod data;
mod goals;
mod grpc;
mod harness;
mod layer;
mod pick;
mod report;
mod ring;

use std::{error::Error, path::PathBuf, process::ExitCode};

use clap::{Parser, Subcommand, ValueEnum};

use self::{goals::Row, report::Report};

/// Measures Ringfence beside its peers and prints ratios with their goals.
#[derive(Debug, Parser)]
struct Arguments {
    /// Writes the rows as JSON too.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Only these groups.
    #[arg(long, value_enum)]
    only: Vec<Group>,
    /// Only rows that noise cannot change: counts, bytes, shares, instructions.
    #[arg(long)]
    steady: bool,
    /// Ends with 1 where a row misses its gate. A row of times is measured once more before that.
    #[arg(long)]
    gate: bool,
    #[command(subcommand)]
    part: Option<Part>,
}

/// What is measured together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Group {
    /// The ring alone: pick, walk, build, update, memory.
    Ring,
    /// Evenness and movement.
    Shares,
    /// `Balancer::pick`, beside another thread and beside updates.
    Pick,
    /// The layer over a service that answers at once.
    Layer,
    /// Instructions, counted by Callgrind.
    Instructions,
    /// gRPC over loopback.
    Grpc,
}

/// Parts that this program runs of itself.
#[derive(Debug, Subcommand)]
enum Part {
    /// Picks so many times, for Callgrind.
    #[command(hide = true)]
    Picks { peer: callgrind::Picker, count: u32 },
    /// Calls a service that answers at once so many times, for Callgrind.
    #[command(hide = true)]
    Over { over: layer::Over, count: u32 },
    /// Serves echo on four ports until its input ends.
    #[command(hide = true)]
    Serve,
    /// Calls so many times, for Callgrind.
    #[command(hide = true)]
    Calls {
        mode: grpc::Mode,
        count: u32,
        ports: Vec<u16>,
    },
}

impl Part {
    fn run(self) -> Result<(), Box<dyn Error>> {
        match self {
            Self::Picks { peer, count } => callgrind::picks(peer, count),
            Self::Over { over, count } => layer::repeat(over, count),
            Self::Serve => grpc::serve()?,
            Self::Calls { mode, count, ports } => grpc::calls(mode, count, &ports)?,
        }
        Ok(())
    }
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let arguments = Arguments::parse();
    if let Some(part) = arguments.part {
        harness::uncounted(|| part.run())?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut report = Report::default();
    for group in Group::value_variants() {
        if !arguments.only.is_empty() && !arguments.only.contains(group) {
            continue;
        }
        eprintln!("measuring {group:?} ...");
        let mut rows = measure(*group, arguments.steady)?;
        let is_missed = |row: &Row| !row.is_within_gate();
        if arguments.gate && rows.iter().any(|row| row.is_noisy && is_missed(row)) {
            eprintln!("measuring {group:?} once more ...");
            let again = measure(*group, arguments.steady)?;
            for (row, again) in rows.iter_mut().zip(again) {
                if row.is_noisy && is_missed(row) {
                    *row = again;
                }
            }
        }
        report.add(*group, rows);
    }
    print!("{report}");
    if let Some(path) = &arguments.json {
        report.write(path)?;
    }
    if arguments.gate && !report.is_within_gates() {
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}

fn measure(group: Group, steady: bool) -> Result<Vec<Row>, Box<dyn Error>> {
    let mut rows = match group {
        Group::Ring => ring::measure(steady),
        Group::Shares => ring::shares(),
        Group::Pick => pick::measure(steady),
        Group::Layer => layer::measure(steady),
        Group::Instructions => callgrind::measure(steady)?,
        Group::Grpc if steady => Vec::new(),
        Group::Grpc => harness::uncounted(grpc::measure)?,
    };
    if steady {
        rows.retain(|row| !row.is_noisy);
    }
    Ok(rows)
}

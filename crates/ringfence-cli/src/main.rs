//! The command `ringfence`: who owns which key, how even a ring is, what a change moves, and why two clients disagree.

mod args;
mod commands;
mod failure;
mod input;
mod measure;
mod output;

use std::{
    io::{self, BufWriter, Write as _},
    process::ExitCode,
};

use clap::Parser as _;

use crate::{
    args::{Args, Command},
    failure::{Failure, unless_closed},
};

/// Exit code of a usage or input that is wrong; clap has the same.
const FAULT: u8 = 2;

fn main() -> ExitCode {
    let args = Args::parse();
    let mut out = BufWriter::new(io::stdout().lock());
    let done = match &args.command {
        Command::Route(args) => commands::route::run(args, &mut out),
        Command::Plan(args) => commands::plan::run(args, &mut out),
        Command::Simulate(args) => commands::simulate::run(args, &mut out),
        Command::Dump(args) => commands::dump::run(args, &mut out),
        Command::Diff(args) => commands::diff::run(args, &mut out),
    };
    let flushed = |code| {
        let written = out.flush().map_err(Failure::from);
        unless_closed(written).map(|()| code)
    };
    match done.and_then(flushed) {
        Ok(code) => code,
        // Who reads the output has had enough of it, as `head` has, and there is no verdict to be kept.
        Err(Failure::Closed) => ExitCode::SUCCESS,
        Err(Failure::Told(message)) => {
            // Where even this cannot be written, the exit code has to do.
            let _ = writeln!(io::stderr(), "ringfence: {message}");
            ExitCode::from(FAULT)
        }
    }
}

//! The command `ringfence`: who owns which key and why, how even a ring is, what a change moves, and why two clients disagree.

mod args;
mod clock;
mod color;
mod commands;
mod failure;
mod input;
mod measure;
mod output;
mod progress;
mod source;

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
/// Exit code of a registry that gives no answer.
const UNREACHED: u8 = 3;

fn main() -> ExitCode {
    let args = Args::parse();
    color::choose(args.color);
    let mut out = BufWriter::new(io::stdout().lock());
    let done = match &args.command {
        Command::Watch(args) => commands::watch::run(args, &mut out),
        Command::Inspect(args) => commands::inspect::run(args, &mut out),
        Command::Explain(args) => commands::explain::run(args, &mut out),
        Command::Report(args) => commands::report::run(args, &mut out),
        Command::Lint(args) => commands::lint::run(args, &mut out),
        Command::Completions(args) => commands::paper::completions(args, &mut out),
        Command::Man(args) => commands::paper::man(args, &mut out),
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
        Err(Failure::Told(message)) => complain(&message, FAULT),
        Err(Failure::Unreached(message)) => complain(&message, UNREACHED),
    }
}

fn complain(message: &str, code: u8) -> ExitCode {
    // Where even this cannot be written, the exit code has to do.
    let _ = writeln!(io::stderr(), "ringfence: {message}");
    ExitCode::from(code)
}

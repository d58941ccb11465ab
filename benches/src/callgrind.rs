//! Instructions of a pick and of a call: the difference between a long and a short run of this program under Callgrind, so that
//! starting and setting up do not count.

use std::{env, error::Error, hint::black_box, process::Command};

use clap::ValueEnum as _;
use ringfence_core::{Ring, RingConfig};

use crate::{
    data,
    goals::Row,
    grpc::{Mode, Server},
    harness::median,
    layer::Over,
    ring,
};

const COUNT: u32 = 1_000;
/// Runs of each kind of call.
const ROUNDS: usize = 5;

/// Who picks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Picker {
    Ringfence,
    Probes8,
    Pingora,
}

/// The loop whose instructions are counted: the pick is part of it, as of a caller's code.
pub(crate) fn picks(picker: Picker, count: u32) {
    let keys = data::keys();
    let keys = keys.iter().take(count as usize);
    match picker {
        Picker::Ringfence | Picker::Probes8 => {
            let probes = if picker == Picker::Probes8 { 8 } else { 1 };
            let config = RingConfig::default().with_probes(probes).expect("in range");
            let ring = Ring::build(&data::pool(COUNT), &config);
            repeat(keys, |key| ring.owner(config.hash_key(key)).unwrap_or(0));
        }
        Picker::Pingora => {
            let continuum = ring::pingora(COUNT);
            repeat(keys, |key| {
                continuum.node(key).map_or(0, |node| node.port().into())
            });
        }
    }
}

fn repeat<'k>(keys: impl Iterator<Item = &'k [u8; 16]>, pick: impl Fn(&[u8; 16]) -> u32) {
    black_box(keys.fold(0, |last, key| last ^ pick(key)));
}

pub(crate) fn measure(steady: bool) -> Result<Vec<Row>, Box<dyn Error>> {
    let mut rows = Vec::new();
    let of = |picker: Picker| {
        let name = name(picker)?;
        between(20_000, 120_000, |count| {
            vec!["picks".to_owned(), name.clone(), count]
        })
    };
    let (ours, probes, pingora) = (
        of(Picker::Ringfence)?,
        of(Picker::Probes8)?,
        of(Picker::Pingora)?,
    );
    let row = Row::steady(format!("pick, N={COUNT}"), "instructions", ours);
    let sides = format!("pingora-ketama {pingora:.0}");
    rows.push(row.at_most(150.0, 90.0).with_sides(sides));
    rows.push(Row::steady(
        format!("pick at 8 probes, N={COUNT}"),
        "instructions",
        probes,
    ));
    rows.extend(layer()?);
    if !steady {
        rows.extend(calls()?);
    }
    Ok(rows)
}

fn layer() -> Result<Vec<Row>, Box<dyn Error>> {
    let of = |over: Over| {
        let name = over.to_possible_value().ok_or("no such service")?;
        between(4_000, 24_000, |count| {
            vec!["over".to_owned(), name.get_name().to_owned(), count]
        })
    };
    let mock = of(Over::Mock)?;
    let (ours, p2c) = (of(Over::Layer)? - mock, of(Over::P2c)? - mock);
    let row = Row::steady(
        "layer over a mock, N=100",
        "instructions above the mock's",
        ours,
    );
    let row = row.with_sides(format!("tower's p2c {p2c:.0}"));
    let watched = Row::steady(
        "metrics and tracing, N=100",
        "instructions above the layer's, without a subscriber",
        of(Over::Watched)? - mock - ours,
    );
    Ok(vec![row, watched])
}

fn calls() -> Result<Vec<Row>, Box<dyn Error>> {
    let server = Server::start()?;
    let of = |mode: Mode| {
        let mode = mode.to_possible_value().ok_or("no such mode")?;
        between(200, 1_200, |count| {
            let mut arguments = vec!["calls".to_owned(), mode.get_name().to_owned(), count];
            arguments.extend(server.ports.iter().map(u16::to_string));
            arguments
        })
    };
    let modes = [
        Mode::Alike,
        Mode::Ringfence,
        Mode::Timerless,
        Mode::Pinging,
        Mode::Map,
        Mode::BalanceList,
    ];
    // Who waits for whom differs from run to run, and with it how often tasks are polled.
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        let raw = of(Mode::Raw)?;
        let others: Result<Vec<_>, _> = modes.iter().map(|&mode| of(mode)).collect();
        rounds.push((raw, others?));
    }
    let raw = median(rounds.iter().map(|(raw, _)| *raw));
    let rows = modes.into_iter().enumerate().map(|(place, mode)| {
        let all = median(rounds.iter().map(|(_, others)| others[place]));
        let row = Row::noisy(
            format!("a call, 1 in flight: {}", mode.name()),
            "thousand instructions above one raw channel's",
            (all - raw) / 1e3,
        );
        let row = row.with_sides(format!("raw {:.1}k", raw / 1e3));
        match mode {
            Mode::Alike => row.at_most(3.0, 1.7),
            _ => row,
        }
    });
    Ok(rows.collect())
}

fn name(picker: Picker) -> Result<String, Box<dyn Error>> {
    let value = picker.to_possible_value().ok_or("no such picker")?;
    Ok(value.get_name().to_owned())
}

/// Instructions of one of the `long - short` further turns.
fn between(
    short: u32,
    long: u32,
    arguments: impl Fn(String) -> Vec<String>,
) -> Result<f64, Box<dyn Error>> {
    let of = |count: u32| instructions(&arguments(count.to_string()));
    Ok((of(long)? - of(short)?) / f64::from(long - short))
}

fn instructions(arguments: &[String]) -> Result<f64, Box<dyn Error>> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(env::current_exe()?)
        .args(arguments)
        .output()
        .map_err(|error| format!("valgrind, which counts instructions, cannot be run: {error}"))?;
    let told = String::from_utf8_lossy(&output.stderr);
    let collected = told
        .lines()
        .find_map(|line| line.split_once("Collected : "));
    let Some((_, collected)) = collected.filter(|_| output.status.success()) else {
        return Err(format!("valgrind failed: {told}").into());
    };
    Ok(collected.trim().parse()?)
}

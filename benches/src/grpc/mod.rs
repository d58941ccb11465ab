//! gRPC over loopback: a raw channel, tonic's `balance_list`, a map of channels by the key's hash, Ringfence, and Envoy beside the
//! client where its binary is named.
//!
//! What the settings of a connection cost is not the balancer's. Ringfence's connector pings its connections and closes idle ones,
//! tonic's channels do neither by default. So what is held to a goal is Ringfence over connections like the others' ([`Mode::Alike`]),
//! and a row beside it tells what its defaults come to ([`Mode::Ringfence`]).

mod client;
mod envoy;
mod server;

use std::{
    error::Error,
    time::{Duration, Instant},
};

use futures_util::future::try_join_all;
use tokio::runtime::{Builder, Runtime};

use self::{client::Client, envoy::Envoy};
use crate::{goals::Row, harness::median};

pub(crate) use self::server::{Server, serve};

/// Rounds of each mode, in turns.
const ROUNDS: usize = 11;
const ROUND: Duration = Duration::from_millis(500);

/// How a call finds its server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Mode {
    /// One channel to one server.
    Raw,
    /// The same in a runtime without any timer, which hardly any program has.
    Timerless,
    /// The same with the pings that Ringfence's connector sends by default.
    Pinging,
    /// tonic's balancing over four.
    BalanceList,
    /// A channel to each of four, by a hash of the key: the least that affinity can cost.
    Map,
    /// The layer over four, with the defaults of its connector.
    Ringfence,
    /// The layer over four connections like those of the others: neither pings nor an idle timeout.
    Alike,
    /// A channel to an Envoy beside it, whose ring has the four.
    #[value(skip)]
    Envoy,
}

impl Mode {
    /// As rows call it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Raw => "one raw channel",
            Self::Timerless => "one raw channel, in a runtime without a timer",
            Self::Pinging => "one raw channel that pings as Ringfence does",
            Self::BalanceList => "balance_list",
            Self::Map => "a map of channels",
            Self::Ringfence => "Ringfence with its defaults (pings, idle timeout)",
            Self::Alike => "Ringfence, connections like the raw channel's",
            Self::Envoy => "Envoy",
        }
    }
}

/// Calls in a row, for Callgrind.
///
/// Whoever waits for a time anywhere makes tokio look at the clock for each call, so there is a timer beside all of them alike.
pub(crate) fn calls(mode: Mode, count: u32, ports: &[u16]) -> Result<(), Box<dyn Error>> {
    runtime()?.block_on(async {
        if mode != Mode::Timerless {
            tokio::spawn(tokio::time::sleep(Duration::from_secs(3_600)));
        }
        let mut client = Client::connect(mode, ports).await?;
        for n in 0..count {
            client.call(n).await?;
        }
        Ok(())
    })
}

fn runtime() -> Result<Runtime, Box<dyn Error>> {
    Ok(Builder::new_current_thread().enable_all().build()?)
}

/// Requests a second of each mode in each round.
struct Rates {
    modes: Vec<Mode>,
    rounds: Vec<Vec<f64>>,
}

impl Rates {
    fn place(&self, mode: Mode) -> Option<usize> {
        self.modes.iter().position(|other| *other == mode)
    }

    fn of(&self, mode: Mode) -> f64 {
        let place = self.place(mode);
        place.map_or(0.0, |place| {
            median(self.rounds.iter().map(|round| round[place]))
        })
    }

    /// The median of the ratios within a round.
    fn ratio(&self, mode: Mode, peer: Mode) -> Option<f64> {
        let (mode, peer) = (self.place(mode)?, self.place(peer)?);
        let rounds = self.rounds.iter();
        Some(median(rounds.map(|round| round[mode] / round[peer])))
    }

    fn row(&self, in_flight: usize, mode: Mode, peer: Mode) -> Option<Row> {
        let what = format!("gRPC, {in_flight} in flight: {}", mode.name());
        let measure = match peer {
            Mode::Raw => "requests a second to one raw channel's",
            Mode::Timerless => "requests a second to one raw channel's without a timer",
            Mode::Pinging => "requests a second to one pinging channel's",
            Mode::BalanceList => "requests a second to balance_list's",
            Mode::Map => "requests a second to the map of channels'",
            Mode::Ringfence | Mode::Alike => "requests a second to Ringfence's",
            Mode::Envoy => "requests a second to Envoy's",
        };
        let sides = format!("{:.0}/s : {:.0}/s", self.of(mode), self.of(peer));
        let row = Row::noisy(what, measure, self.ratio(mode, peer)?).with_sides(sides);
        Some(match (mode, peer, in_flight) {
            (Mode::Alike, Mode::Map, 64) => row.at_least(0.93, 0.97),
            (Mode::Alike, Mode::BalanceList, 64) => row.at_least(0.95, 1.0),
            (Mode::Ringfence, Mode::Envoy, 1) => row.at_least(2.0, 2.5),
            (Mode::Ringfence, Mode::Envoy, _) => row.at_least(3.0, 4.0),
            _ => row,
        })
    }
}

pub(crate) fn measure() -> Result<Vec<Row>, Box<dyn Error>> {
    let server = Server::start()?;
    let envoy = Envoy::start(&server.ports)?;
    server::keep_to_core(1);
    let rates = [1, 64].map(|in_flight| rates(&server, envoy.as_ref(), in_flight));
    server::keep_to_all_cores();
    let mut rows = Vec::new();
    for (in_flight, rates) in [1, 64].into_iter().zip(rates) {
        let rates = rates?;
        let pairs = [
            (Mode::Alike, Mode::Map),
            (Mode::Alike, Mode::BalanceList),
            (Mode::Alike, Mode::Raw),
            (Mode::Ringfence, Mode::Map),
            (Mode::BalanceList, Mode::Raw),
            (Mode::Ringfence, Mode::Envoy),
        ];
        rows.extend(
            pairs
                .into_iter()
                .filter_map(|(mode, peer)| rates.row(in_flight, mode, peer)),
        );
    }
    Ok(rows)
}

fn rates(
    server: &Server,
    envoy: Option<&Envoy>,
    in_flight: usize,
) -> Result<Rates, Box<dyn Error>> {
    runtime()?.block_on(async {
        let modes = [
            Mode::Raw,
            Mode::BalanceList,
            Mode::Map,
            Mode::Ringfence,
            Mode::Alike,
        ];
        let mut clients = Vec::new();
        for mode in modes {
            clients.push((mode, Client::connect(mode, &server.ports).await?));
        }
        if let Some(envoy) = envoy {
            clients.push((
                Mode::Envoy,
                Client::connect(Mode::Envoy, &[envoy.port]).await?,
            ));
        }
        for (_, client) in &clients {
            run(client, in_flight, ROUND / 2).await?;
        }
        let mut rounds = Vec::new();
        for _ in 0..ROUNDS {
            let mut round = Vec::new();
            for (_, client) in &clients {
                round.push(run(client, in_flight, ROUND).await?);
            }
            rounds.push(round);
        }
        Ok(Rates {
            modes: clients.iter().map(|(mode, _)| *mode).collect(),
            rounds,
        })
    })
}

/// Requests a second.
async fn run(client: &Client, in_flight: usize, time: Duration) -> Result<f64, Box<dyn Error>> {
    let start = Instant::now();
    let workers = (0..in_flight).map(|worker| {
        let mut client = client.clone();
        async move {
            let mut count = 0u32;
            let mut n = u32::try_from(worker * 7_919).unwrap_or(0);
            while start.elapsed() < time {
                client.call(n).await?;
                n = n.wrapping_add(1);
                count += 1;
            }
            Ok::<u32, tonic::Status>(count)
        }
    });
    let counts = try_join_all(workers).await?;
    Ok(f64::from(counts.iter().sum::<u32>()) / start.elapsed().as_secs_f64())
}

//! What can be said on the command line.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};

/// Who owns which key, how even a ring is, what a change moves, and why two clients disagree.
///
/// Instances come from a file in the form of Ringfence's file source (YAML or JSON); keys from a file with one a line. `-` is
/// standard input. Exit codes: 0 done, 1 a difference was found or a bound was passed, whether the output is read to its end or not,
/// 2 a wrong usage or input.
#[derive(Debug, Parser)]
#[command(name = "ringfence", version, max_term_width = 100)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Route(RouteArgs),
    Plan(PlanArgs),
    Simulate(SimulateArgs),
    Dump(DumpArgs),
    Diff(DiffArgs),
}

/// The instances, and how keys are mapped to them.
#[derive(Debug, ClapArgs)]
pub(crate) struct RingArgs {
    /// How keys are mapped: ring, envoy-ring, maglev, nginx, ketama, jump, rendezvous or slots.
    #[arg(long, value_name = "NAME", default_value = "ring")]
    pub(crate) algorithm: String,
    /// A setting of the algorithm, named as in a policy document, such as points_per_instance=320 or host_order=sorted; as often
    /// as needed.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) settings: Vec<String>,
    /// The file of instances.
    #[arg(long, value_name = "FILE")]
    pub(crate) instances: PathBuf,
    /// The service of the file; needed where it has several.
    #[arg(long, value_name = "NAME")]
    pub(crate) service: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Columns for people.
    Table,
    /// JSON.
    Json,
    /// CSV with a header.
    Csv,
}

/// Tells the owner of each key.
///
/// The output has a row for each key, in the order of the file, under the header `key,owner`, where the owner is the id of an
/// instance. Keys are taken as the bytes they are, without the line end (`\n` or `\r\n`); empty lines are skipped. With --format json it is
/// one object a line; a key that is no UTF-8 is given there as `key_hex`. The file may be of any length: nothing of it is kept.
///
/// Instances that are disabled or have weight 0 own nothing. Unhealthy ones are skipped clockwise, as a client does it; where fewer
/// than half of those that take traffic are healthy, all are used, as a client does it by default, and a line on standard
/// error says so.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  ringfence route --instances fleet.yaml --keys keys.txt
  ringfence route --algorithm envoy-ring --set min_ring_size=1024 --instances fleet.yaml --keys keys.txt
  cut -d, -f1 access.csv | ringfence route --instances fleet.yaml --keys - --walk 2")]
pub(crate) struct RouteArgs {
    #[command(flatten)]
    pub(crate) ring: RingArgs,
    /// The file of keys.
    #[arg(long, value_name = "FILE")]
    pub(crate) keys: PathBuf,
    /// Tells the next N distinct instances after the owner too, in columns next_1, next_2 and so on; empty where there are no more.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u16).range(0..=1000))]
    pub(crate) walk: u16,
    /// Lets unhealthy instances own keys.
    #[arg(long)]
    pub(crate) ignore_health: bool,
    /// How it is written.
    #[arg(long, value_enum, default_value_t = Format::Csv)]
    pub(crate) format: Format,
}

/// Tells how even the shares of the instances are, and what the ring costs.
///
/// Shares are exact; only those of jump and rendezvous are counted, over a sample of generated keys. The output says which. `relative`
/// is the share divided by that which the weight promises; `cv` is the standard deviation of these, `max/mean` the largest of them.
/// Health plays no part. With --format csv only the instances are written.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  ringfence plan --instances fleet.yaml
  ringfence plan --instances fleet.yaml --set probes=5 --imbalance-bound 1.1
  ringfence plan --algorithm maglev --instances fleet.yaml --format json")]
pub(crate) struct PlanArgs {
    #[command(flatten)]
    pub(crate) ring: RingArgs,
    /// Exits with 1 if the largest share is more than this times what its weight promises; 1 or more.
    #[arg(long, value_name = "FACTOR", value_parser = bound)]
    pub(crate) imbalance_bound: Option<f64>,
    /// Keys to sample where shares are not exact.
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub(crate) sample: u64,
    /// How it is written.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
}

/// Tells which keys a change of the instances moves.
///
/// The changes are made one after the other: each --change by itself, or one to the instances of --to. For each it tells how many keys
/// moved, how many had to at least (`ideal`: what instances gain by their weights), how many moved between instances that did not change, and from whom to whom. Health
/// plays no part. The algorithm `modulo` (hash modulo number of instances) is here as a deterrent only.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  ringfence simulate --instances now.yaml --to tomorrow.yaml
  ringfence simulate --instances now.yaml --change add:new.yaml --change remove:cart-2 --change weight:cart-3=50
  ringfence simulate --algorithm modulo --instances now.yaml --change remove:cart-2 --keys keys.txt")]
pub(crate) struct SimulateArgs {
    #[command(flatten)]
    pub(crate) ring: RingArgs,
    /// The file of the instances after the change.
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with = "changes",
        required_unless_present = "changes"
    )]
    pub(crate) to: Option<PathBuf>,
    /// A change: add:FILE, remove:ID or weight:ID=N; as often as needed.
    #[arg(long = "change", value_name = "CHANGE")]
    pub(crate) changes: Vec<String>,
    /// The file of keys; without it, keys are generated.
    #[arg(long, value_name = "FILE")]
    pub(crate) keys: Option<PathBuf>,
    /// How many keys are generated.
    #[arg(long, value_name = "N", default_value_t = 100_000, conflicts_with = "keys", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub(crate) generate: u64,
    /// What the generated keys follow from.
    #[arg(long, value_name = "S", default_value_t = 0, conflicts_with = "keys")]
    pub(crate) seed: u64,
    /// How it is written.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
}

/// Writes what decides the owners of keys, as JSON for `ringfence diff`.
///
/// A running program writes the same with `Balancer::dump`. It holds no tags, unless --tags asks for them.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  ringfence dump --instances fleet.yaml > here.json
  ringfence dump --instances fleet.yaml --output here.json && ringfence diff here.json there.json")]
pub(crate) struct DumpArgs {
    #[command(flatten)]
    pub(crate) ring: RingArgs,
    /// Where it is written to; without it, standard output.
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Writes the tags of the instances too, which may hold what is not for everybody.
    #[arg(long)]
    pub(crate) tags: bool,
}

/// Tells the first reason why two dumps send keys to different instances.
///
/// In this order: layout, algorithm and its settings, instances and their ids, weights, host keys and order where the algorithm
/// depends on them, points, fingerprint. A setting that differs is told even where these instances are mapped alike, since others
/// may not be. Exits with 0 where nothing differs, with 1 where something does.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  ringfence diff here.json there.json")]
pub(crate) struct DiffArgs {
    /// The first dump.
    #[arg(value_name = "HERE")]
    pub(crate) here: PathBuf,
    /// The second dump.
    #[arg(value_name = "THERE")]
    pub(crate) there: PathBuf,
    /// How it is written.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
}

fn bound(text: &str) -> Result<f64, String> {
    let bound = text.parse::<f64>().ok();
    let bound = bound.filter(|bound| bound.is_finite() && *bound >= 1.0);
    bound.ok_or_else(|| "expected a number of 1 or more".to_owned())
}

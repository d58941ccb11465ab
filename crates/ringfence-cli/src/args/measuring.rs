//! Commands that measure rings.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use super::{Format, RingArgs};

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
  ringfence route --algorithm jump --set 'buckets=[cart-1, cart-2]' --instances fleet.yaml --keys keys.txt
  ringfence route --algorithm slots --set 'slots={ owners: { cart-1: 0-8191, cart-2: 8192-16383 } }' --instances fleet.yaml --keys keys.txt
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
/// Shares are exact; only with several probes, jump and rendezvous they are counted, over a sample of generated keys. The output says which. `relative`
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
    /// The instances after the change.
    #[arg(
        long,
        value_name = "SOURCE",
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

/// Writes one self-contained HTML file about a service: how even it is, what changes move, and its ring.
///
/// It has a table of shares, the evenness for 1 to 1,000 points for each instance of this very service, what each instance that
/// leaves, comes or is weighted anew would move beside the least that had to move, and a picture of the ring. It asks nothing of any
/// network, has a light and a dark look, and can be printed.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  ringfence report order.html --instances consul://127.0.0.1:8500/order
  ringfence report maglev.html --instances fleet.yaml --algorithm maglev
  ringfence report - --instances nacos:///order > order.html")]
pub(crate) struct ReportArgs {
    /// The file that is written; `-` is standard output.
    #[arg(value_name = "FILE.html")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) ring: RingArgs,
    /// Keys to sample where shares are not exact. For rendezvous, each of whose look-ups takes time by the number of instances, fewer
    /// are taken where instances times keys would be too many; the page says how many, and with a smaller --changes there are more for each change.
    #[arg(long, value_name = "N", default_value_t = 200_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub(crate) sample: u64,
    /// Instances whose changes are shown; those with the largest shares.
    #[arg(long, value_name = "N", default_value_t = 40, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) changes: u16,
}

fn bound(text: &str) -> Result<f64, String> {
    let bound = text.parse::<f64>().ok();
    let bound = bound.filter(|bound| bound.is_finite() && *bound >= 1.0);
    bound.ok_or_else(|| "expected a number of 1 or more".to_owned())
}

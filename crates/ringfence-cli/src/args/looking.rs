//! Commands that look at a service.

use std::{net::IpAddr, path::PathBuf, time::Duration};

use clap::Args as ClapArgs;

use super::{Format, RingArgs};

/// Shows a service in any registry, and its changes as they come.
///
/// On a terminal it is a table that is drawn anew, with the last changes below. Elsewhere, and with --format, each change is a line (with
/// json an object), flushed at once: `present` for each instance of the first list, then `added`, `removed` and `changed`, `ring` for
/// each other ring with the part of the keys that it moved, and `registry` where the registry goes away, comes back, or sends what is
/// not believed at once. It is a client as any other: additions come after its merge window of 200 ms, a list that is suddenly empty
/// or lost most of its instances after it was confirmed, and an error of the registry is told and ends nothing. Changes that are undone
/// within 100 ms are not seen.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  ringfence watch --instances consul://127.0.0.1:8500/order
  ringfence watch --instances etcd://10.0.0.1:2379,10.0.0.2:2379/prod/order --format json | jq .event
  ringfence watch --instances nacos:///order --once")]
pub(crate) struct WatchArgs {
    #[command(flatten)]
    pub(crate) ring: RingArgs,
    /// Shows the first list and ends; with exit code 3 where there is none within --for, by default 10 seconds.
    #[arg(long)]
    pub(crate) once: bool,
    /// Ends after so many seconds; without it, when it is interrupted.
    #[arg(long = "for", value_name = "SECONDS", value_parser = seconds)]
    pub(crate) duration: Option<Duration>,
    /// How it is written; without it a live table on a terminal, and lines elsewhere.
    #[arg(long, value_enum)]
    pub(crate) format: Option<Format>,
}

/// Shows a service as the SDK sees it: instances, what was left out, ring, shares and evenness.
///
/// Shares are exact, but with several probes, jump and rendezvous, where they are counted over a sample. With --points it lists the ring itself, and
/// with --keys how the keys of a file are spread and which of them are the most frequent ones.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  ringfence inspect --instances consul://127.0.0.1:8500/order
  ringfence inspect --instances fleet.yaml --points 20
  cut -d, -f1 access.csv | ringfence inspect --instances nacos:///order --keys - --top 5")]
pub(crate) struct InspectArgs {
    #[command(flatten)]
    pub(crate) ring: RingArgs,
    /// Lists the first N points of the ring with their arcs.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) points: usize,
    /// A file of keys, in which a key may stand many times.
    #[arg(long, value_name = "FILE")]
    pub(crate) keys: Option<PathBuf>,
    /// How many of the most frequent keys are told.
    #[arg(long, value_name = "N", default_value_t = 10, requires = "keys", value_parser = clap::value_parser!(u16).range(0..=1000))]
    pub(crate) top: u16,
    /// Keys to sample where shares are not exact.
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub(crate) sample: u64,
    /// How it is written; csv has the instances alone.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
}

/// Tells how one request is decided, from its key to the instances that are tried.
///
/// A real balancer is made of the instances and the policy, and asked: which key source had what, how the key was normalised and hashed,
/// which tags are believed and why, which pools were looked at and which one serves, whom the key passes on its way around the ring and
/// why, and who is tried. A client that sees other failures passes other instances by; everything else is the same. Without --policy it
/// is decided as a program without a policy does it: by the key alone, narrowed by --tag. Where the policy observes, or enforces for
/// others, it tells what the policy would do; whom the program's baseline tries is not known here.
///
/// --key, --tag, --gray, --claim and --peer say what the program itself puts into its requests, and are believed; --header is what
/// comes from outside.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  ringfence explain --instances consul:///order --key user-7
  ringfence explain --instances nacos:///order --policy policy.yaml --header 'x-user: user-7' --path /carts/7
  ringfence explain --instances fleet.yaml --policy policy.yaml --gray checkout-v2 --tag tenant=acme --key k --format json")]
pub(crate) struct ExplainArgs {
    #[command(flatten)]
    pub(crate) ring: RingArgs,
    /// The routing key that the program sets.
    #[arg(long, value_name = "KEY")]
    pub(crate) key: Option<String>,
    /// The method of the request; POST for gRPC.
    #[arg(long, value_name = "METHOD", default_value = "GET")]
    pub(crate) method: String,
    /// Path and query of the request, such as /cart?user=7 or /shop.v1.Checkout/Pay.
    #[arg(long, value_name = "PATH", default_value = "/")]
    pub(crate) path: String,
    /// A header or gRPC metadata; as often as needed.
    #[arg(long = "header", value_name = "NAME: VALUE")]
    pub(crate) headers: Vec<String>,
    /// A tag that the program sets: tenant, version, zone, region or another one; as often as needed.
    #[arg(long = "tag", value_name = "NAME=VALUE")]
    pub(crate) tags: Vec<String>,
    /// Puts the request into a gray release of the policy, as the program's tag authority does.
    #[arg(long, value_name = "RELEASE")]
    pub(crate) gray: Option<String>,
    /// A claim that the program verified; as often as needed.
    #[arg(long = "claim", value_name = "NAME=VALUE")]
    pub(crate) claims: Vec<String>,
    /// The address of the peer, as the program's server saw it.
    #[arg(long, value_name = "IP")]
    pub(crate) peer: Option<IpAddr>,
    #[command(flatten)]
    pub(crate) context: ContextArgs,
    /// The policy document.
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// How many instances are tried at most.
    #[arg(long, value_name = "N")]
    pub(crate) max_attempts: Option<usize>,
    /// How it is written; csv has the walk alone.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
}

/// What a policy needs of its program.
#[derive(Debug, Default, ClapArgs)]
pub(crate) struct ContextArgs {
    /// The zone of the client.
    #[arg(long, value_name = "ZONE")]
    pub(crate) zone: Option<String>,
    /// The region of the client.
    #[arg(long, value_name = "REGION")]
    pub(crate) region: Option<String>,
    /// A secret that the policy names for keyed hashes, and a file with its 16 bytes or 32 hexadecimal digits; as often as needed.
    #[arg(long = "secret", value_name = "NAME=FILE")]
    pub(crate) secrets: Vec<String>,
    /// A function of the program that the policy names as a key source; here it finds no key. As often as needed.
    #[arg(long = "function", value_name = "NAME")]
    pub(crate) functions: Vec<String>,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok();
    let duration = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    duration.ok_or_else(|| "expected a number of seconds".to_owned())
}

//! What can be said on the command line.

use std::{net::IpAddr, path::PathBuf, time::Duration};

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};

/// How the registries are asked who this is; of `--help` and of the man page.
const CREDENTIALS: &str = "\
Credentials are never arguments, which others can read. They come from the environment or from files:
  Consul  CONSUL_HTTP_TOKEN, or the file of CONSUL_HTTP_TOKEN_FILE; CONSUL_CACERT names a CA
  Nacos   NACOS_USERNAME and NACOS_PASSWORD
  etcd    ETCDCTL_USER as USER:PASSWORD; ETCDCTL_CACERT names a CA
  all     the files consul-reader, nacos-reader and etcd-reader of the folder RINGFENCE_CREDENTIALS

Where an address names no host, CONSUL_HTTP_ADDR, NACOS_SERVER_ADDR and ETCD_ENDPOINTS do, else it is this machine.

Exit codes:
  0  done
  1  a difference, a finding, or a bound that was passed; whether the output is read to its end or not
  2  a wrong usage or input
  3  the registry did not answer, or knows no such service";

/// Who owns which key and why, how even a ring is, what a change moves, and why two clients disagree.
///
/// Instances come from a file in the form of Ringfence's file source (YAML or JSON), or from a service of a registry; keys from a file
/// with one a line. `-` is standard input.
#[derive(Debug, Parser)]
#[command(name = "ringfence", version, max_term_width = 100, after_long_help = CREDENTIALS, after_help = "Exit codes: 0 done, 1 a difference, a finding or a passed bound, 2 a wrong usage or input, 3 no answer of a registry.")]
pub(crate) struct Args {
    /// When standard output has colours: on a terminal, unless NO_COLOR is set; always; never.
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = Colors::Auto, global = true)]
    pub(crate) color: Colors,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Colors {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Watch(WatchArgs),
    Inspect(InspectArgs),
    Explain(Box<ExplainArgs>),
    Route(RouteArgs),
    Plan(PlanArgs),
    Simulate(SimulateArgs),
    Report(ReportArgs),
    Lint(LintArgs),
    Dump(DumpArgs),
    Diff(DiffArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
}

/// The instances, and how keys are mapped to them.
#[derive(Debug, ClapArgs)]
pub(crate) struct RingArgs {
    /// How keys are mapped: ring, envoy-ring, maglev, nginx, ketama, jump, rendezvous or slots.
    #[arg(long, value_name = "NAME", default_value = "ring")]
    pub(crate) algorithm: String,
    /// A setting of the algorithm, named as in a policy document, such as points_per_instance=320, host_order=sorted,
    /// buckets='[a, b]' (jump) or slots='{ owners: { 0-16383: a } }' (slots); as often as needed.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) settings: Vec<String>,
    /// Where the instances are: a file, static:HOST:PORT,..., or a service of a registry:
    /// consul://HOST:PORT/[DATACENTER/]NAME?tag=T, nacos://HOST:PORT/[NAMESPACE/][GROUP/]NAME?cluster=C,
    /// etcd://HOST:PORT,.../[NAMESPACE/]NAME; consul+https:// and etcd+https:// with TLS.
    #[arg(long, value_name = "SOURCE")]
    pub(crate) instances: PathBuf,
    /// The service; needed where a file has several, or the address of a registry names none.
    #[arg(long, value_name = "NAME")]
    pub(crate) service: Option<String>,
}

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
/// Shares are exact, but for jump and rendezvous, where they are counted over a sample. With --points it lists the ring itself, and
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
/// is decided as a program without a policy does it: by the key alone, narrowed by --tag.
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
    /// Keys to sample where shares are not exact.
    #[arg(long, value_name = "N", default_value_t = 200_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub(crate) sample: u64,
    /// Instances whose changes are shown; those with the largest shares.
    #[arg(long, value_name = "N", default_value_t = 40, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) changes: u16,
}

/// Looks for what is wrong in policies, settings and files of instances.
///
/// Each finding has a code that stays the same over versions, a severity and, where it is known, a line. Exits with 1 where there is an
/// error, or, with --deny warnings, any finding. Codes: RF-P of policies, RF-C of settings (explained in the guide `config`), RF-I of
/// instances.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  ringfence lint --policy policy.yaml --zone az-1
  ringfence lint --settings balancer.yaml --deny warnings --format json
  ringfence lint --policy policy.yaml --instances fleet.yaml --settings balancer.yaml")]
pub(crate) struct LintArgs {
    /// A policy document; as often as needed.
    #[arg(long = "policy", value_name = "FILE", required_unless_present_any = ["settings", "instances"])]
    pub(crate) policies: Vec<PathBuf>,
    /// A file of settings (YAML or JSON), named as on `BalancerConfig`; as often as needed. `ringfence lint --list` names them.
    #[arg(long = "settings", value_name = "FILE")]
    pub(crate) settings: Vec<PathBuf>,
    /// A file of instances; as often as needed.
    #[arg(long = "instances", value_name = "FILE")]
    pub(crate) instances: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) context: ContextArgs,
    /// Lets warnings fail too.
    #[arg(long, value_name = "WHAT", value_enum)]
    pub(crate) deny: Option<Denied>,
    /// Tells which settings there are, with their values by default, and looks at nothing.
    #[arg(long, exclusive = true)]
    pub(crate) list: bool,
    /// How it is written.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Denied {
    Warnings,
}

/// Writes what a shell needs to complete this command.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  ringfence completions bash > /etc/bash_completion.d/ringfence
  ringfence completions zsh > \"${fpath[1]}/_ringfence\"")]
pub(crate) struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

/// Writes the manual: one page for the command to standard output, or that and one for each subcommand into a folder.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  ringfence man | man -l -
  ringfence man /usr/local/share/man/man1")]
pub(crate) struct ManArgs {
    /// The folder; it must exist.
    #[arg(value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
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
  ringfence route --algorithm jump --set 'buckets=[cart-1, cart-2]' --instances fleet.yaml --keys keys.txt
  ringfence route --algorithm slots --set 'slots={ owners: { 0-8191: cart-1, 8192-16383: cart-2 } }' --instances fleet.yaml --keys keys.txt
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

/// Writes what decides the owners of keys, as JSON for `ringfence diff`.
///
/// A running program writes the same with `Balancer::dump`. It holds no tags, unless --tags asks for them.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  ringfence dump --instances fleet.yaml > here.json
  ringfence dump --instances consul:///order > here.json
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

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok();
    let duration = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    duration.ok_or_else(|| "expected a number of seconds".to_owned())
}

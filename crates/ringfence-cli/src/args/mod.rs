//! What can be said on the command line.

mod checking;
mod looking;
mod measuring;
mod papers;

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};

pub(crate) use self::{
    checking::{Denied, DiffArgs, DumpArgs, LintArgs},
    looking::{ContextArgs, ExplainArgs, InspectArgs, WatchArgs},
    measuring::{PlanArgs, ReportArgs, RouteArgs, SimulateArgs},
    papers::{CompletionsArgs, ManArgs},
};

/// How a command ends; of the short help as of the long one.
macro_rules! exit_codes {
    () => {
        "\
Exit codes:
  0  done
  1  a difference, a finding, or a bound that was passed; whether the output is read to its end or not
  2  a wrong usage or input
  3  the registry did not answer, knows no such service, or lists no instance of it"
    };
}

const EXIT_CODES: &str = exit_codes!();

/// How the registries are asked who this is, and how a command ends; of `--help` and of the man page.
const CREDENTIALS_AND_EXIT_CODES: &str = concat!(
    "\
Credentials are never arguments, which others can read. They come from the environment or from files:
  Consul  the file of CONSUL_HTTP_TOKEN_FILE, or else CONSUL_HTTP_TOKEN; CONSUL_CACERT names a CA
  Nacos   NACOS_USERNAME and NACOS_PASSWORD
  etcd    ETCDCTL_USER as USER:PASSWORD; ETCDCTL_CACERT names a CA
  all     the files consul-reader, nacos-reader and etcd-reader of the folder RINGFENCE_CREDENTIALS

Where an address names no host, CONSUL_HTTP_ADDR, NACOS_SERVER_ADDR and ETCD_ENDPOINTS do, else it is this machine.

",
    exit_codes!()
);

/// Who owns which key and why, how even a ring is, what a change moves, and why two clients disagree.
///
/// Instances come from a file in the form of Ringfence's file source (YAML or JSON), or from a service of a registry; keys from a file
/// with one a line. `-` is standard input.
#[derive(Debug, Parser)]
#[command(name = "ringfence", version, max_term_width = 100, after_long_help = CREDENTIALS_AND_EXIT_CODES, after_help = EXIT_CODES)]
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
    /// buckets='[a, b]' (jump) or slots='{ owners: { a: 0-16383 } }' (slots); as often as needed.
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Columns for people.
    Table,
    /// JSON.
    Json,
    /// CSV with a header.
    Csv,
}

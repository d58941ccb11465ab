//! Commands that find what is wrong.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};

use super::{ContextArgs, Format, RingArgs};

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

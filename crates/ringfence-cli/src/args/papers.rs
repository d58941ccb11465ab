//! Commands about this command.

use std::path::PathBuf;

use clap::Args as ClapArgs;

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

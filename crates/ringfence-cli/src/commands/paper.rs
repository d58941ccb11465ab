//! `ringfence completions` and `ringfence man`

use std::{io::Write, process::ExitCode};

use clap::CommandFactory as _;

use crate::{
    args::{Args, CompletionsArgs, ManArgs},
    failure::Failure,
};

pub(crate) fn completions(
    args: &CompletionsArgs,
    out: &mut dyn Write,
) -> Result<ExitCode, Failure> {
    // Made in memory: the generator panics where its output cannot be written.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "ringfence", &mut script);
    out.write_all(&script)?;
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn man(args: &ManArgs, mut out: &mut dyn Write) -> Result<ExitCode, Failure> {
    match &args.folder {
        Some(folder) => {
            // It names the page that it could not write only by the system's words.
            let written = clap_mangen::generate_to(Args::command(), folder);
            written.map_err(|error| Failure::at(folder, None, error))?;
        }
        None => clap_mangen::Man::new(Args::command()).render(&mut out)?,
    }
    Ok(ExitCode::SUCCESS)
}

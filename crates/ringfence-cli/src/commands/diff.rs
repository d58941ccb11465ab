use std::{io::Write, path::Path, process::ExitCode};

use ringfence_policy::{DumpError, RingDump};
use serde::Serialize;

use crate::{
    args::{DiffArgs, Format},
    failure::{Failure, unless_closed},
    input::{check_stdin, read_text},
};

/// Exit code where the dumps differ.
const DIFFERENT: u8 = 1;

#[derive(Serialize)]
struct Answer {
    equal: bool,
    cause: Option<String>,
}

pub(crate) fn run(args: &DiffArgs, out: &mut dyn Write) -> Result<ExitCode, Failure> {
    check_stdin([args.here.as_path(), &args.there])?;
    let (here, there) = (read(&args.here)?, read(&args.there)?);
    let cause = here.first_disagreement(&there);
    let answer = Answer {
        equal: cause.is_none(),
        cause: cause.map(|cause| cause.to_string()),
    };
    unless_closed(write(&answer, args.format, out))?;
    Ok(match answer.equal {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(DIFFERENT),
    })
}

fn write(answer: &Answer, format: Format, out: &mut dyn Write) -> Result<(), Failure> {
    match format {
        Format::Table => {
            let told = answer.cause.as_deref();
            writeln!(
                out,
                "{}",
                told.unwrap_or("no difference: they send each key to the same instance")
            )?;
        }
        Format::Json => {
            serde_json::to_writer(&mut *out, answer)?;
            writeln!(out)?;
        }
        Format::Csv => {
            let mut writer = csv::Writer::from_writer(out);
            writer.serialize(answer)?;
            writer.flush()?;
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<RingDump, Failure> {
    RingDump::parse(&read_text(path)?).map_err(|error| {
        let line = match &error {
            DumpError::Malformed(error) => Some(error.line() as u64).filter(|line| *line > 0),
            _ => None,
        };
        Failure::at(path, line, error)
    })
}

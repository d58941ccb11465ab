//! `ringfence lint`

mod findings;
mod settings;
mod values;

use std::{io::Write, process::ExitCode, sync::Arc};

use ringfence_policy::TagAuthority;

use self::findings::{Finding, Severity};
use crate::{
    args::{Denied, Format, LintArgs},
    color::{BAD, GOOD, ODD, paint},
    failure::{Failure, unless_closed},
    input::{check_stdin, check_without_policy, context, warn_of_unnamed},
    output::printable,
};

/// Exit code where something is found that counts.
const FOUND: u8 = 1;

pub(crate) fn run(args: &LintArgs, out: &mut dyn Write) -> Result<ExitCode, Failure> {
    if args.list {
        settings::list(out)?;
        return Ok(ExitCode::SUCCESS);
    }
    let files = args
        .policies
        .iter()
        .chain(&args.settings)
        .chain(&args.instances);
    check_stdin(files.map(AsRef::as_ref))?;
    if args.policies.is_empty() {
        check_without_policy(&args.context, false)?;
    }
    // Nobody makes tokens here, but policies that believe them are legal.
    let context = context(&args.context, &TagAuthority::new())?;
    let mut found = Vec::new();
    let mut policies = Vec::new();
    for path in &args.policies {
        let policy = findings::of_policy(path, &context, &mut found)?;
        policies.extend(policy.map(Arc::new));
    }
    // One that is no policy may name them.
    if policies.len() == args.policies.len() {
        warn_of_unnamed(&args.context, &policies);
    }
    for path in &args.settings {
        findings::of_settings(path, &mut found)?;
    }
    for path in &args.instances {
        findings::of_instances(path, &mut found)?;
    }
    let counts = |finding: &Finding| {
        finding.severity == Severity::Error || args.deny == Some(Denied::Warnings)
    };
    let fails = found.iter().any(counts);
    unless_closed(write(&found, args.format, out))?;
    Ok(match fails {
        true => ExitCode::from(FOUND),
        false => ExitCode::SUCCESS,
    })
}

fn write(found: &[Finding], format: Format, out: &mut dyn Write) -> Result<(), Failure> {
    match format {
        Format::Table => {
            for finding in found {
                let style = match finding.severity {
                    Severity::Error => BAD,
                    Severity::Warning => ODD,
                };
                let line = finding
                    .line
                    .map_or(String::new(), |line| format!(":{line}"));
                let severity = paint(style, finding.severity.as_str());
                let (place, told) = (
                    printable(&format!("{}{line}", finding.file)),
                    printable(&finding.told()),
                );
                writeln!(out, "{place}: {severity} {}: {told}", finding.code)?;
            }
            if found.is_empty() {
                writeln!(out, "{}", paint(GOOD, "nothing was found"))?;
            }
        }
        Format::Json => {
            serde_json::to_writer_pretty(&mut *out, found)?;
            writeln!(out)?;
        }
        Format::Csv => {
            let mut writer = csv::Writer::from_writer(out);
            writer.write_record(["file", "line", "severity", "code", "part", "message"])?;
            for finding in found {
                let line = finding.line.map_or(String::new(), |line| line.to_string());
                let severity = finding.severity.as_str();
                let (part, message) = (finding.part.as_deref(), &*finding.message);
                writer.write_record([
                    &finding.file,
                    &line,
                    severity,
                    finding.code,
                    part.unwrap_or_default(),
                    message,
                ])?;
            }
            writer.flush()?;
        }
    }
    Ok(())
}

use std::{
    env,
    io::{self, Write as _},
    process::ExitCode,
    str::FromStr,
};

/// Takes the value of one flag.
pub type Take<F> = fn(&mut F, &str) -> Result<(), String>;

/// Reads the flags that this process was started with, each of which has a value, over those that are set.
///
/// # Errors
/// The exit code where there is nothing more to do: after `--help`, whose usage is on standard output, and after what is wrong, which
/// is told on standard error.
pub fn flags<F>(usage: &str, flags: F, known: &[(&str, Take<F>)]) -> Result<F, ExitCode> {
    match parse(env::args().skip(1), flags, known) {
        Ok(Some(flags)) => Ok(flags),
        Ok(None) => {
            // Where nobody reads it, there is nothing to be done about it.
            let _ = writeln!(io::stdout(), "{usage}");
            Err(ExitCode::SUCCESS)
        }
        Err(fault) => Err(wrong_usage(usage, &fault)),
    }
}

/// Tells of a wrong usage; 2, as everywhere.
#[must_use]
pub fn wrong_usage(usage: &str, fault: &str) -> ExitCode {
    // The exit code says it too.
    let _ = writeln!(io::stderr(), "{fault}\n{usage}");
    ExitCode::from(2)
}

/// Reads a value to where it belongs; `what` says what it should be.
///
/// # Errors
/// A sentence where it is not that.
pub fn set<T: FromStr>(place: &mut T, value: &str, what: &str) -> Result<(), String> {
    *place = read(value, what)?;
    Ok(())
}

/// As [`set`], of a place that has no value unless it is given one.
///
/// # Errors
/// As [`set`].
pub fn set_some<T: FromStr>(place: &mut Option<T>, value: &str, what: &str) -> Result<(), String> {
    *place = Some(read(value, what)?);
    Ok(())
}

fn read<T: FromStr>(value: &str, what: &str) -> Result<T, String> {
    value.parse().map_err(|_| format!("{value} is no {what}"))
}

/// `None` stands for a call for help.
fn parse<F>(
    mut args: impl Iterator<Item = String>,
    mut flags: F,
    known: &[(&str, Take<F>)],
) -> Result<Option<F>, String> {
    while let Some(flag) = args.next() {
        if ["--help", "-h"].contains(&&*flag) {
            return Ok(None);
        }
        let found = known.iter().find(|(name, _)| *name == flag);
        let (_, take) = found.ok_or_else(|| format!("{flag} is unknown"))?;
        let value = args.next().ok_or_else(|| format!("{flag} needs a value"))?;
        take(&mut flags, &value)?;
    }
    Ok(Some(flags))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: &[(&str, Take<u16>)] = &[("--port", |port, value| set(port, value, "port"))];

    fn told(args: &str) -> Result<Option<u16>, String> {
        parse(args.split_whitespace().map(str::to_owned), 7, KNOWN)
    }

    #[test]
    fn what_has_no_value_gets_one_or_stays_without() {
        let mut place = None::<u16>;
        assert_eq!(
            set_some(&mut place, "x", "port"),
            Err("x is no port".to_owned())
        );
        assert_eq!(place, None);
        assert_eq!(set_some(&mut place, "80", "port"), Ok(()));
        assert_eq!(place, Some(80));
    }

    #[test]
    fn what_is_known_is_read_and_all_else_is_told() {
        assert_eq!(told(""), Ok(Some(7)));
        assert_eq!(told("--port 80"), Ok(Some(80)));
        for help in ["--help", "-h", "--port 80 --help"] {
            assert_eq!(told(help), Ok(None));
        }
        for (args, fault) in [
            ("--prot 80", "--prot is unknown"),
            ("80", "80 is unknown"),
            ("--port", "--port needs a value"),
            ("--port x", "x is no port"),
        ] {
            assert_eq!(told(args), Err(fault.to_owned()));
        }
    }
}

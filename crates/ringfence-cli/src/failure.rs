use std::{fmt, io, path::Path};

use crate::output::printable;

/// Why a command did not do what it was told.
#[derive(Debug)]
pub(crate) enum Failure {
    /// One line for the user, with the file and line where there is one.
    Told(String),
    /// One line for the user: the registry did not answer, or does not know the service.
    Unreached(String),
    /// Nobody reads the output any more.
    Closed,
}

impl Failure {
    pub(crate) fn new(message: impl fmt::Display) -> Self {
        Self::Told(one_line(message))
    }

    pub(crate) fn unreached(message: impl fmt::Display) -> Self {
        Self::Unreached(one_line(message))
    }

    /// Of a file, and of a line in it.
    pub(crate) fn at(path: &Path, line: Option<u64>, fault: impl fmt::Display) -> Self {
        let name = match path.to_str() {
            Some("-") => "standard input".to_owned(),
            _ => path.display().to_string(),
        };
        match line {
            Some(line) => Self::new(format_args!("{name}:{line}: {fault}")),
            None => Self::new(format_args!("{name}: {fault}")),
        }
    }
}

/// A message of others may have several lines.
fn one_line(message: impl fmt::Display) -> String {
    let message = message.to_string();
    let lines: Vec<&str> = message.lines().map(str::trim).collect();
    printable(&lines.join(" "))
}

/// That nobody reads the output changes nothing about the verdict.
pub(crate) fn unless_closed(written: Result<(), Failure>) -> Result<(), Failure> {
    match written {
        Err(Failure::Closed) => Ok(()),
        other => other,
    }
}

impl From<io::Error> for Failure {
    /// Of writing the output.
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::Closed,
            _ => Self::new(format_args!("the output cannot be written: {error}")),
        }
    }
}

impl From<csv::Error> for Failure {
    fn from(error: csv::Error) -> Self {
        match error.into_kind() {
            csv::ErrorKind::Io(error) => error.into(),
            other => Self::new(format_args!("the output cannot be written: {other:?}")),
        }
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        io::Error::from(error).into()
    }
}

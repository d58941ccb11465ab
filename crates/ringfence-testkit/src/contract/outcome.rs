use std::fmt;

use ringfence_core::Snapshot;
use ringfence_discovery::Supervisor;

/// What came of a scenario that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All steps were as they have to be.
    Passed,
    /// The subject says that it cannot do it, for this reason.
    Impossible(&'static str),
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Passed => f.write_str("passed"),
            Self::Impossible(reason) => write!(f, "not run: {reason}"),
        }
    }
}

/// A snapshot in one line.
pub(super) fn show(snapshot: &Snapshot) -> String {
    let instances: Vec<String> = snapshot
        .instances()
        .iter()
        .take(5)
        .map(|instance| {
            format!(
                "{}@{} weight {} {}{}{:?}",
                instance.id(),
                instance.address(),
                instance.weight(),
                if instance.is_enabled() {
                    ""
                } else {
                    "disabled "
                },
                instance.version().unwrap_or("-"),
                instance.tags()
            )
        })
        .collect();
    format!("{} [{}]", snapshot.len(), instances.join(", "))
}

/// What went wrong with a watch, after a semicolon.
pub(super) fn trouble(watch: &Supervisor) -> String {
    let status = watch.status();
    let mut text = format!("; {:?}", status.counters);
    for error in [&status.watch_error, &status.fetch_error]
        .into_iter()
        .flatten()
    {
        text += &format!("; {error}");
    }
    if let Some(held) = status.held {
        text += &format!("; held: {}", held.reason);
    }
    text
}

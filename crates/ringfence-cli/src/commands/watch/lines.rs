//! Changes as lines, for who reads them with a program.

use std::io::Write;

use super::change::Change;
use crate::{args::Format, failure::Failure, output::printable};

/// Writes each change as it comes.
pub(super) struct Lines {
    format: Format,
}

const COLUMNS: [&str; 11] = [
    "at", "event", "epoch", "instance", "address", "zone", "version", "weight", "state", "share",
    "detail",
];

impl Lines {
    pub(super) fn new(format: Format, out: &mut dyn Write) -> Result<Self, Failure> {
        if format == Format::Csv {
            let mut writer = csv::Writer::from_writer(&mut *out);
            writer.write_record(COLUMNS)?;
            writer.flush()?;
        }
        out.flush()?;
        Ok(Self { format })
    }

    /// What is written is flushed, since the next change may be hours away.
    pub(super) fn write(&self, changes: &[Change], out: &mut dyn Write) -> Result<(), Failure> {
        match self.format {
            Format::Table => {
                for change in changes {
                    let (event, told) = (change.event.as_str(), printable(&change.told()));
                    writeln!(out, "{}  {event:<8}  {told}", change.at)?;
                }
            }
            Format::Json => {
                for change in changes {
                    serde_json::to_writer(&mut *out, change)?;
                    out.write_all(b"\n")?;
                }
            }
            Format::Csv => {
                let mut writer = csv::Writer::from_writer(&mut *out);
                for change in changes {
                    writer.write_record(record(change))?;
                }
                writer.flush()?;
            }
        }
        out.flush()?;
        Ok(())
    }
}

fn record(change: &Change) -> [String; COLUMNS.len()] {
    let row = change.instance.as_ref();
    let text = |of: fn(&super::sight::Row) -> String| row.map(of).unwrap_or_default();
    let detail = match row {
        Some(_) => {
            let fields = change.fields.iter();
            let fields = fields.map(|f| format!("{} {} -> {}", f.field, f.from, f.to));
            fields.collect::<Vec<_>>().join(", ")
        }
        None => change.told(),
    };
    [
        change.at.clone(),
        change.event.as_str().to_owned(),
        change.epoch.to_string(),
        text(|row| row.id.clone()),
        text(|row| row.address.clone()),
        text(|row| row.zone.clone().unwrap_or_default()),
        text(|row| row.version.clone().unwrap_or_default()),
        text(|row| row.weight.to_string()),
        text(|row| row.state.to_owned()),
        text(|row| row.share.to_string()),
        detail,
    ]
}

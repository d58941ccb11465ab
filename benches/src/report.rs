//! The rows as a table and as JSON.

use std::{fmt, fs, io, path::Path, thread};

use serde::Serialize;

use crate::{Group, goals::Row};

#[derive(Debug, Default)]
pub(crate) struct Report {
    groups: Vec<(Group, Vec<Row>)>,
}

/// As it is written; a change of the fields is a change of the version.
#[derive(Serialize)]
struct Written<'a> {
    version: u32,
    cores: usize,
    rows: Vec<WrittenRow<'a>>,
}

#[derive(Serialize)]
struct WrittenRow<'a> {
    group: String,
    #[serde(flatten)]
    row: &'a Row,
    verdict: &'static str,
}

impl Report {
    pub(crate) fn add(&mut self, group: Group, rows: Vec<Row>) {
        self.groups.push((group, rows));
    }

    pub(crate) fn is_within_gates(&self) -> bool {
        self.rows().all(|(_, row)| row.is_within_gate())
    }

    fn rows(&self) -> impl Iterator<Item = (Group, &Row)> {
        let groups = self.groups.iter();
        groups.flat_map(|(group, rows)| rows.iter().map(|row| (*group, row)))
    }

    pub(crate) fn write(&self, path: &Path) -> io::Result<()> {
        let rows = self.rows().map(|(group, row)| WrittenRow {
            group: format!("{group:?}").to_lowercase(),
            row,
            verdict: row.verdict(),
        });
        let written = Written {
            version: 1,
            cores: thread::available_parallelism().map_or(0, usize::from),
            rows: rows.collect(),
        };
        let mut text = serde_json::to_string_pretty(&written)?;
        text.push('\n');
        fs::write(path, text)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let heads = ["what", "measure", "figure", "gate / goal", "", "sides"];
        let mut lines = vec![heads.map(str::to_owned)];
        lines.extend(self.rows().map(|(_, row)| {
            [
                row.what.clone(),
                row.measure.to_owned(),
                format!("{:.3}", row.value),
                row.bounds(),
                row.verdict().to_owned(),
                row.sides.clone().unwrap_or_default(),
            ]
        }));
        let width = |column: usize| {
            let widths = lines.iter().map(|line| line[column].chars().count());
            widths.max().unwrap_or(0)
        };
        let widths: [usize; 6] = std::array::from_fn(width);
        for (number, line) in lines.iter().enumerate() {
            for (cell, width) in line.iter().zip(widths) {
                write!(f, "| {cell:width$} ")?;
            }
            writeln!(f, "|")?;
            if number == 0 {
                for width in widths {
                    write!(f, "|{:-<1$}", "", width + 2)?;
                }
                writeln!(f, "|")?;
            }
        }
        Ok(())
    }
}

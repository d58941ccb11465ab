//! Columns for people.

use std::io::{self, Write};

/// Rows under a header: the first column to the left, the others to the right, as numbers are.
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new<const N: usize>(header: [&str; N]) -> Self {
        let header = header.map(ToOwned::to_owned);
        Self {
            rows: vec![header.to_vec()],
        }
    }

    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.rows.push(cells.map(|cell| printable(&cell)).to_vec());
    }

    pub(crate) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let columns = self.rows.first().map_or(0, Vec::len);
        let cell = |row: &[String], column: usize| row.get(column).cloned().unwrap_or_default();
        let width = |column| {
            let lengths = self
                .rows
                .iter()
                .map(|row| cell(row, column).chars().count());
            lengths.max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        for row in &self.rows {
            let mut line = String::new();
            for (column, width) in widths.iter().enumerate() {
                let text = cell(row, column);
                line.push_str(&match column {
                    0 => format!("{text:<width$}"),
                    _ => format!("  {text:>width$}"),
                });
            }
            writeln!(out, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

/// Names with their values, one a line.
pub(crate) fn write_facts(out: &mut dyn Write, facts: &[(&str, String)]) -> io::Result<()> {
    let width = facts.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    for (name, value) in facts {
        writeln!(out, "{name:<width$}  {}", printable(value))?;
    }
    Ok(())
}

/// A text as one line of a terminal, whatever is in it.
pub(crate) fn printable(text: &str) -> String {
    let escaped = |c: char| match c {
        c if c.is_control() => c.escape_default().to_string(),
        c => c.to_string(),
    };
    text.chars().map(escaped).collect()
}

/// A share as per cent.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.2} %", share * 100.0)
}

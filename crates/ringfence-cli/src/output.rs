//! Columns for people.

use std::io::{self, Write};

use anstyle::Style;
use ringfence_core::Instance;

use crate::color::{BAD, FAINT, HEAD, ODD, paint};

/// Rows under a header: the first columns to the left, the others to the right, as numbers are.
pub(crate) struct Table {
    rows: Vec<(Style, Vec<String>)>,
    left: usize,
}

impl Table {
    pub(crate) fn new<const N: usize>(header: [&str; N]) -> Self {
        let header = header.map(ToOwned::to_owned);
        Self {
            rows: vec![(HEAD, header.to_vec())],
            left: 1,
        }
    }

    /// So many columns are texts.
    pub(crate) fn with_left(mut self, columns: usize) -> Self {
        self.left = columns;
        self
    }

    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.styled_row(Style::new(), cells);
    }

    pub(crate) fn styled_row<const N: usize>(&mut self, style: Style, cells: [String; N]) {
        let cells = cells.map(|cell| printable(&cell)).to_vec();
        self.rows.push((style, cells));
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        let columns = self.rows.first().map_or(0, |(_, header)| header.len());
        let cell = |row: &[String], column: usize| row.get(column).cloned().unwrap_or_default();
        let width = |column| {
            let lengths = self.rows.iter();
            let lengths = lengths.map(|(_, row)| cell(row, column).chars().count());
            lengths.max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let line = |(style, row): &(Style, Vec<String>)| {
            let mut line = String::new();
            for (column, width) in widths.iter().enumerate() {
                let text = cell(row, column);
                let gap = if column == 0 { "" } else { "  " };
                line.push_str(&match column < self.left {
                    true => format!("{gap}{text:<width$}"),
                    false => format!("{gap}{text:>width$}"),
                });
            }
            match *style == Style::new() {
                true => line.trim_end().to_owned(),
                false => paint(*style, line.trim_end()),
            }
        };
        self.rows.iter().map(line).collect()
    }

    pub(crate) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        for line in self.lines() {
            writeln!(out, "{line}")?;
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
        c if is_hidden(c) => c.escape_default().to_string(),
        c => c.to_string(),
    };
    text.chars().map(escaped).collect()
}

/// Characters that steer what shows a text instead of being seen in it: controls, those that turn its direction (which makes one id
/// look like another), those without width, and breaks of lines.
pub(crate) fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}'
                | '\u{61c}'
                | '\u{180e}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
        )
}

/// A share as per cent.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.2} %", share * 100.0)
}

/// In which state the registry has an instance, in one word.
pub(crate) fn state_of(instance: &Instance) -> &'static str {
    match instance {
        i if !i.is_enabled() => "disabled",
        i if i.weight().is_zero() => "drained",
        i if !i.is_healthy() => "unhealthy",
        _ => "usable",
    }
}

pub(crate) fn style_of(state: &str) -> Style {
    match state {
        "unhealthy" => BAD,
        "drained" => ODD,
        "disabled" => FAINT,
        _ => Style::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_a_terminal_is_escaped_and_all_else_is_kept() {
        for hidden in [
            '\u{1b}', '\u{200b}', '\u{200f}', '\u{2028}', '\u{2029}', '\u{202e}', '\u{2066}',
            '\u{2069}', '\u{feff}',
        ] {
            let told = printable(&format!("a{hidden}b"));
            assert_eq!(told, format!("a\\u{{{:x}}}b", u32::from(hidden)));
        }
        for kept in ["Zürich", "東京", "שלום", "a–b …"] {
            assert_eq!(printable(kept), kept);
        }
    }
}

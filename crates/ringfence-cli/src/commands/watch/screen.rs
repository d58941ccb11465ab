//! The list of a service on a terminal, drawn anew whenever something changed.

use std::{collections::VecDeque, io::Write};

use console::{Term, truncate_str};

use super::{
    change::{Change, Event},
    sight::{Row, Sight},
};
use crate::{
    color::{BAD, FAINT, GOOD, HEAD, ODD, paint},
    failure::Failure,
    output::{Table, percent, printable, style_of},
};

/// Changes that are shown below the list.
const SHOWN: usize = 8;
/// Lines that are not instances: head, registry, ring, a blank, the header, a blank, the rest's count.
const FRAME: usize = 8;

/// What is on the terminal.
#[derive(Default)]
pub(super) struct Screen {
    recent: VecDeque<Change>,
    drawn: usize,
}

impl Screen {
    /// Remembers changes, the newest ones.
    pub(super) fn note(&mut self, changes: &[Change]) {
        let told = changes
            .iter()
            .filter(|change| change.event != Event::Present);
        self.recent.extend(told.cloned());
        let spare = self.recent.len().saturating_sub(SHOWN);
        self.recent.drain(..spare);
    }

    /// Draws it in the place of what was there.
    pub(super) fn draw(
        &mut self,
        title: &str,
        sight: &Sight,
        out: &mut dyn Write,
    ) -> Result<(), Failure> {
        let (height, width) = Term::stdout().size();
        let lines = self.lines(title, sight, usize::from(height));
        if self.drawn > 0 {
            // Up to the first line, and all below it away.
            write!(out, "\x1b[{}A\x1b[J", self.drawn)?;
        }
        for line in &lines {
            writeln!(out, "{}", truncate_str(line, usize::from(width).max(1), ""))?;
        }
        self.drawn = lines.len();
        out.flush()?;
        Ok(())
    }

    fn lines(&self, title: &str, sight: &Sight, height: usize) -> Vec<String> {
        let mut lines = vec![
            paint(HEAD, printable(title)),
            registry_line(sight),
            ring_line(sight),
            String::new(),
        ];
        let room = height.saturating_sub(FRAME + self.recent.len()).max(3);
        lines.extend(table(sight, room));
        if !self.recent.is_empty() {
            lines.push(String::new());
        }
        for change in &self.recent {
            // The day is the same as that of the terminal, but for the rare night.
            let time = change.at.get(11..19).unwrap_or_default();
            let style = match change.event {
                Event::Added | Event::Present => GOOD,
                Event::Removed => BAD,
                Event::Changed | Event::Registry => ODD,
                Event::Ring => FAINT,
            };
            let event = paint(style, format_args!("{:<8}", change.event.as_str()));
            lines.push(format!(
                "{} {event} {}",
                paint(FAINT, time),
                printable(&change.told())
            ));
        }
        // With more, the first line would leave the terminal, and could not be drawn anew.
        lines.truncate(height.saturating_sub(1).max(1));
        lines
    }
}

/// The list of instances and what is known beside it, once.
pub(super) fn write_once(title: &str, sight: &Sight, out: &mut dyn Write) -> Result<(), Failure> {
    writeln!(out, "{}", paint(HEAD, printable(title)))?;
    writeln!(out, "{}\n{}\n", registry_line(sight), ring_line(sight))?;
    for line in table(sight, usize::MAX) {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

fn registry_line(sight: &Sight) -> String {
    let told = printable(&sight.registry.told);
    let style = if sight.registry.is_well { GOOD } else { ODD };
    format!("registry   {}", paint(style, told))
}

fn ring_line(sight: &Sight) -> String {
    match sight.has_list() {
        true => format!("ring       {} points, {}", sight.points, sight.fingerprint),
        false => "ring       -".to_owned(),
    }
}

fn table(sight: &Sight, room: usize) -> Vec<String> {
    let header = [
        "instance", "address", "zone", "version", "weight", "state", "share",
    ];
    let mut table = Table::new(header).with_left(6);
    let text = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    let shown: Vec<&Row> = sight.rows.values().take(room).collect();
    for row in &shown {
        table.styled_row(
            style_of(row.state),
            [
                row.id.clone(),
                row.address.clone(),
                text(&row.zone),
                text(&row.version),
                row.weight.to_string(),
                row.state.to_owned(),
                percent(row.share),
            ],
        );
    }
    let mut lines = table.lines();
    if let Some(more @ 1..) = sight.rows.len().checked_sub(shown.len()) {
        lines.push(format!("and {more} more"));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::{super::change::changes, *};

    #[test]
    fn what_is_drawn_fits_on_the_terminal() {
        let row = |n: u32| Row {
            id: format!("order-{n}"),
            address: format!("10.0.0.{n}:80"),
            zone: None,
            version: None,
            weight: 100,
            state: "usable",
            share: 0.05,
        };
        let rows = (0..20).map(row).map(|row| (row.id.clone(), row));
        let sight = Sight {
            epoch: 1,
            rows: rows.collect(),
            ..Sight::default()
        };
        let before = Sight {
            epoch: 1,
            ..Sight::default()
        };
        let mut screen = Screen::default();
        screen.note(&changes(&before, &sight, "2026-01-01T00:00:00.000Z"));
        for height in [0, 1, 2, 6, 10, 24, 40] {
            let lines = screen.lines("order", &sight, height);
            assert!(lines.len() < height.max(2), "{height}: {}", lines.len());
            assert!(lines.first().is_some_and(|line| line.contains("order")));
        }
        // All instances and the newest changes where there is room.
        assert_eq!(screen.lines("order", &sight, 60).len(), 5 + 20 + 1 + SHOWN);
    }
}

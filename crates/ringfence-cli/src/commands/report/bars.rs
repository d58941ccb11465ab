//! What changes move, as bars with the ideal beside each.

use super::{measured::Change, svg::Picture};

const WIDTH: f64 = 720.0;
const ROW: f64 = 24.0;
const LEFT: f64 = 190.0;
const RIGHT: f64 = 64.0;
const TOP: f64 = 34.0;
/// Letters of a label.
const LABEL: usize = 26;

pub(super) fn of(changes: &[Change]) -> Option<Picture> {
    let moved = changes.iter().map(|change| change.moved.max(change.ideal));
    let longest = moved.fold(0.0, f64::max);
    if longest <= 0.0 {
        return None;
    }
    let worst = changes.iter().max_by(|a, b| a.moved.total_cmp(&b.moved))?;
    let title = format!(
        "Part of the keys that each change moves, beside the least that has to move. The most is moved by `{}`: {:.1} %.",
        worst.what,
        worst.moved * 100.0
    );
    let rows = f64::from(u32::try_from(changes.len()).unwrap_or_default());
    let height = TOP + rows * ROW + 8.0;
    let mut picture = Picture::new(WIDTH, height, &title);
    let length = |share: f64| share / longest * (WIDTH - LEFT - RIGHT);
    let legend = [
        ("moved", "moved"),
        ("between", "of it between others"),
        ("ideal", "had to move"),
    ];
    let mut at = LEFT;
    for (class, label) in legend {
        picture.rect(class, (at, 8.0), (14.0, 10.0));
        picture.label("axis", "start", (at + 20.0, 17.0), label);
        at += 46.0 + 7.0 * f64::from(u32::try_from(label.len()).unwrap_or_default());
    }
    let mut y = TOP;
    for change in changes {
        picture.label(
            "name",
            "end",
            (LEFT - 8.0, y + 13.0),
            &shortened(&change.what),
        );
        picture.rect("moved", (LEFT, y + 2.0), (length(change.moved), 9.0));
        if change.between > 0.0 {
            picture.rect("between", (LEFT, y + 2.0), (length(change.between), 9.0));
        }
        picture.rect("ideal", (LEFT, y + 12.0), (length(change.ideal), 5.0));
        let end = LEFT + length(change.moved.max(change.ideal)) + 6.0;
        picture.label(
            "tick",
            "start",
            (end, y + 13.0),
            &format!("{:.2} %", change.moved * 100.0),
        );
        y += ROW;
    }
    Some(picture)
}

/// The beginning and the end of a long label, since ids differ at their ends.
fn shortened(label: &str) -> String {
    let letters: Vec<char> = label.chars().collect();
    if letters.len() <= LABEL {
        return label.to_owned();
    }
    let head: String = letters.iter().take(12).collect();
    let tail: String = letters.iter().skip(letters.len() - (LABEL - 13)).collect();
    format!("{head}…{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_labels_keep_both_ends() {
        assert_eq!(shortened("remove a"), "remove a");
        let short = shortened("remove order-service-europe-west-1-0042");
        assert_eq!(short.chars().count(), LABEL);
        assert!(short.starts_with("remove order") && short.ends_with("0042"));
    }
}

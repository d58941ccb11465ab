/// `, did you mean ...?`, or the known names, for whoever misspelt one.
pub(crate) fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    match nearest(name, &known) {
        Some(known) => format!(", did you mean `{known}`?"),
        None if known.is_empty() => ", nor any other".to_owned(),
        None => format!(", there is: {}", known.join(", ")),
    }
}

/// Names that fields have in code, or that people expect, beside those that they have in a document.
const OTHER_NAMES: [(&str, &str); 3] = [
    ("matches", "match"),
    ("otherwise", "else"),
    ("percentage", "percent"),
];

/// The known name that `name` is most likely a misspelling of.
pub(crate) fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let other = OTHER_NAMES.iter().find(|(other, _)| *other == name);
    let meant = other.and_then(|(_, meant)| known.iter().find(|known| *known == meant));
    if let Some(meant) = meant {
        return Some(*meant);
    }
    let name = name.to_ascii_lowercase();
    let distances = known.iter().map(|known| (distance(&name, known), *known));
    let (distance, best) = distances.min()?;
    let tolerated = (best.len() / 3).max(1);
    (distance <= tolerated).then_some(best)
}

/// Levenshtein's distance, in characters.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        for (above, y) in row.iter_mut().skip(1).zip(&b) {
            let best = (diagonal + usize::from(x != *y))
                .min(left + 1)
                .min(*above + 1);
            diagonal = std::mem::replace(above, best);
            left = best;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or(0)
}

/// `, did you mean ...?`, or the known names, for whoever misspelt one.
pub(crate) fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    match nearest(name, &known) {
        Some(known) => format!(", did you mean `{known}`?"),
        None if known.is_empty() => ", there is none".to_owned(),
        None => match known.get(..MAX_LISTED) {
            None => format!(", there is: {}", known.join(", ")),
            Some(first) => {
                let more = known.len() - first.len();
                format!(", there is: {} and {more} more", first.join(", "))
            }
        },
    }
}

/// Known names that are listed.
const MAX_LISTED: usize = 16;
/// Longer names are nobody's misspelling, and comparing them takes time by the square of their length.
const MAX_COMPARED: usize = 64;

/// The known name that `name` is most likely a misspelling of.
pub(crate) fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    if name.len() > MAX_COMPARED {
        return None;
    }
    let name = name.to_ascii_lowercase();
    let compared = known.iter().filter(|known| known.len() <= MAX_COMPARED);
    let distances = compared.map(|known| (distance(&name, known), *known));
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

/// Known names that are listed.
const MAX_LISTED: usize = 16;
/// Longer names are nobody's misspelling, and comparing them takes time by the square of their length.
const MAX_COMPARED: usize = 64;

/// What follows the complaint that nothing is named `name`: `` , did you mean `...`? `` with the known name that it is most
/// likely a misspelling of, else the first 16 known names.
///
/// A misspelling differs from the name that was meant by at most a third of its letters, and in upper and lower case at will.
/// Names of more than 64 bytes are not compared, so that texts from outside cost little time.
///
/// ```
/// use ringfence_core::did_you_mean;
///
/// let known = ["address", "weight"];
/// assert_eq!(did_you_mean("Wieght", known), ", did you mean `weight`?");
/// assert_eq!(did_you_mean("port", known), ", there is: address, weight");
/// assert_eq!(did_you_mean("port", []), ", nor any other");
/// ```
#[must_use]
pub fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    match nearest(name, &known) {
        Some(known) => format!(", did you mean `{known}`?"),
        None if known.is_empty() => ", nor any other".to_owned(),
        None => {
            let listed: Vec<&str> = known.iter().take(MAX_LISTED).copied().collect();
            let more = match known.len() - listed.len() {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            format!(", there is: {}{more}", listed.join(", "))
        }
    }
}

fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    if name.len() > MAX_COMPARED {
        return None;
    }
    let name = name.to_ascii_lowercase();
    let edits = known
        .iter()
        .filter(|known| known.len() <= MAX_COMPARED)
        .map(|known| (strsim::levenshtein(&name, known), *known));
    let (edits, best) = edits.min()?;
    let tolerated = (best.len() / 3).max(1);
    (edits <= tolerated).then_some(best)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_likely_misspelling_is_suggested() {
        let known = ["id", "address", "weight", "healthy"];
        assert_eq!(nearest("wieght", &known), Some("weight"));
        assert_eq!(nearest("Address", &known), Some("address"));
        assert_eq!(nearest("health", &known), Some("healthy"));
        assert_eq!(nearest("port", &known), None);
        assert_eq!(nearest("id", &[]), None);
    }

    #[test]
    fn hostile_names_cost_little_time_and_text() {
        let long = "x".repeat(1 << 20);
        assert_eq!(nearest(&long, &["x"]), None);
        assert_eq!(nearest("x", &[&long]), None);
        let known: Vec<String> = (0..100).map(|n| format!("release-{n}")).collect();
        let told = did_you_mean("other", known.iter().map(String::as_str));
        assert!(told.ends_with("release-15 and 84 more"), "{told}");
        let told = did_you_mean("other", known.iter().take(16).map(String::as_str));
        assert!(told.ends_with("release-15"), "{told}");
    }
}

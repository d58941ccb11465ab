/// What follows the complaint that nothing is named `name`: `` , did you mean `...`? `` with the known name that it is most
/// likely a misspelling of, else all known names.
///
/// A misspelling differs from the name that was meant by at most a third of its letters, and in upper and lower case at will.
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
        None => format!(", there is: {}", known.join(", ")),
    }
}

fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let name = name.to_ascii_lowercase();
    let edits = known
        .iter()
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
}

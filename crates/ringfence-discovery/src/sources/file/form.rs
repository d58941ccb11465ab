//! The shape of an instances file for the reader, and the reader's complaints in our words.

use std::{fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_saphyr::{Error, Spanned};

use super::error::InstancesFileError;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Document {
    pub(super) services: Entries<Vec<Spanned<Record>>>,
}

/// All scalars are read as texts: which of them are wrong is for the record to decide, not for the document.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Record {
    pub(super) id: Option<Spanned<String>>,
    pub(super) address: Option<Spanned<String>>,
    pub(super) scheme: Option<Spanned<String>>,
    pub(super) weight: Option<Spanned<String>>,
    pub(super) version: Option<Spanned<String>>,
    pub(super) region: Option<Spanned<String>>,
    pub(super) zone: Option<Spanned<String>>,
    pub(super) tags: Option<Entries<Option<String>>>,
    pub(super) enabled: Option<Spanned<String>>,
    pub(super) healthy: Option<Spanned<String>>,
}

/// A mapping in the order of the file. The reader refuses keys that are there twice.
#[derive(Debug)]
pub(super) struct Entries<V>(pub(super) Vec<(Spanned<String>, V)>);

impl<'de, V: Deserialize<'de>> Deserialize<'de> for Entries<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(EntriesVisitor(PhantomData))
    }
}

struct EntriesVisitor<V>(PhantomData<V>);

impl<'de, V: Deserialize<'de>> Visitor<'de> for EntriesVisitor<V> {
    type Value = Entries<V>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a mapping")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Entries(entries))
    }
}

pub(super) fn read(text: &str) -> Result<Document, InstancesFileError> {
    let options = serde_saphyr::options! {
        with_snippet: false,
        budget: serde_saphyr::budget! {
            // A file needs some eight levels, and the reader stack for each.
            max_depth: 16,
            // The default suits small configurations; a file of 16 MiB has more nodes.
            max_nodes: 8_000_000,
            max_events: 16_000_000,
        },
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| complaint(&error))
}

fn complaint(error: &Error) -> InstancesFileError {
    let location = error.location().filter(|at| at.line() > 0);
    let reason = match error {
        Error::SerdeUnknownField {
            field, expected, ..
        } => match nearest(field, expected) {
            Some(known) => format!("unknown field `{field}`, did you mean `{known}`?"),
            None => format!(
                "unknown field `{field}`, expected one of {}",
                expected.join(", ")
            ),
        },
        Error::DuplicateMappingKey { key: Some(key), .. } => format!("`{key}` is there twice"),
        Error::DuplicateMappingKey { key: None, .. } => "a key is there twice".to_owned(),
        Error::MultipleDocuments { .. } => "only one document is allowed".to_owned(),
        Error::Eof { .. } => "the file ends too early or is empty".to_owned(),
        other => {
            let shown = other.to_string();
            // The place is told by the error that this goes into.
            let places = [" (defined at line ", " (used at line ", " at line "];
            let ends = places.iter().filter_map(|place| shown.rfind(place));
            shown[..ends.min().unwrap_or(shown.len())].to_owned()
        }
    };
    InstancesFileError::new(
        location.map(|at| at.line()),
        location.map(|at| at.column()),
        reason,
    )
}

/// The known name that `name` is most likely a misspelling of.
fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_counts_edits() {
        for (a, b, edits) in [
            ("", "id", 2),
            ("id", "id", 0),
            ("adress", "address", 1),
            ("wieght", "weight", 2),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(distance(a, b), edits, "{a} {b}");
            assert_eq!(distance(b, a), edits, "{b} {a}");
        }
    }

    #[test]
    fn only_a_likely_misspelling_is_suggested() {
        let known = ["id", "address", "weight", "healthy"];
        assert_eq!(nearest("wieght", &known), Some("weight"));
        assert_eq!(nearest("Address", &known), Some("address"));
        assert_eq!(nearest("health", &known), Some("healthy"));
        assert_eq!(nearest("port", &known), None);
    }
}

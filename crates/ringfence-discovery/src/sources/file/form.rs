//! The shape of an instances file for the reader, and the reader's complaints in our words.

use std::{fmt, marker::PhantomData};

use ringfence_core::did_you_mean;
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
        } => {
            let known = expected.iter().copied();
            format!("unknown field `{field}`{}", did_you_mean(field, known))
        }
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

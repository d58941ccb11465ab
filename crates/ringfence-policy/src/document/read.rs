//! From a text to a document, with the reader's complaints in our words.

use serde::de::DeserializeOwned;
use serde_saphyr::{Error, Options};

use super::{
    PolicyDocument,
    expected::{invalid, missing, unexpected, unknown_field, unknown_word},
    locate::Tree,
};
use crate::{CompiledPolicy, PolicyContext, PolicyError};

impl PolicyDocument {
    /// Longest text that is read: 1 MiB.
    pub const MAX_TEXT: usize = 1 << 20;

    /// Reads a document from YAML or JSON.
    ///
    /// # Errors
    /// [`PolicyError`] with the place, for a text that is not a document of this format.
    pub fn parse(text: &str) -> Result<Self, PolicyError> {
        within(text, Self::MAX_TEXT)?;
        read(text)
    }

    /// Reads a document and compiles it: what is wrong is told with its place in the text in either case.
    ///
    /// # Errors
    /// [`PolicyError`], see [`parse`](Self::parse) and [`compile`](Self::compile).
    pub fn parse_and_compile(
        text: &str,
        context: &PolicyContext,
    ) -> Result<CompiledPolicy, PolicyError> {
        Self::parse(text)?
            .compile(context)
            .map_err(|error| located(error, text))
    }
}

/// Refuses a text of more bytes than `most`.
pub(crate) fn within(text: &str, most: usize) -> Result<(), PolicyError> {
    if text.len() <= most {
        return Ok(());
    }
    let reason = format!("{} bytes are too long, allowed are {most}", text.len());
    Err(PolicyError::new("", reason))
}

/// Reads anything that is written like a document.
pub(crate) fn read<T: DeserializeOwned>(text: &str) -> Result<T, PolicyError> {
    serde_saphyr::from_str_with_options(text, options()).map_err(|error| complaint(&error, text))
}

/// The error with the place in the text of the part that its path leads to.
pub(crate) fn located(error: PolicyError, text: &str) -> PolicyError {
    let place = tree(text).and_then(|tree| tree.place_of(error.path()));
    error.at(place)
}

fn options() -> Options {
    serde_saphyr::options! {
        with_snippet: false,
        budget: serde_saphyr::budget! {
            // A document needs some twelve levels. The reader needs stack for each: 64 are too many for 2 MiB.
            max_depth: 24,
            max_nodes: 500_000,
            max_events: 1_000_000,
        },
    }
}

fn tree(text: &str) -> Option<Tree> {
    serde_saphyr::from_str_with_options(text, options()).ok()
}

fn complaint(error: &Error, text: &str) -> PolicyError {
    let place = error
        .location()
        .filter(|at| at.line() > 0)
        .map(|at| (at.line(), at.column()));
    let tree = tree(text);
    let path = place.and_then(|place| Some(tree.as_ref()?.path_of(place)));
    let path = path.unwrap_or_default();
    let reason = match error {
        Error::SerdeUnknownField {
            field, expected, ..
        } => unknown_field(field, expected),
        Error::SerdeUnknownVariant {
            variant, expected, ..
        } => unknown_word(variant, expected, &path),
        Error::SerdeMissingField { field, .. } => {
            // It is told at the first entry of the mapping, if there is one.
            let parent = match tree.zip(place) {
                Some((tree, place))
                    if !path.ends_with(']') && tree.place_of(&path) == Some(place) =>
                {
                    path.rsplit_once('.').map_or("", |(parent, _)| parent)
                }
                _ => &path,
            };
            return PolicyError::new(parent, missing(field)).at(place);
        }
        Error::DuplicateMappingKey { key: Some(key), .. } => format!("`{key}` is there twice"),
        Error::DuplicateMappingKey { key: None, .. } => "a key is there twice".to_owned(),
        Error::MultipleDocuments { .. } => "only one document is allowed".to_owned(),
        Error::Eof { .. } => "the text ends too early or is empty".to_owned(),
        Error::Unexpected { expected, .. } => unexpected(expected, &path),
        Error::InvalidScalar { ty, .. } => invalid(ty, &path),
        other => {
            let shown = other.to_string();
            // The place is told by the error that this goes into.
            let places = [" (defined at line ", " (used at line ", " at line "];
            let ends = places.iter().filter_map(|place| shown.rfind(place));
            let told = &shown[..ends.min().unwrap_or(shown.len())];
            if told.ends_with("found a tab") {
                format!("{told}; a tab does not indent: use spaces")
            } else {
                told.to_owned()
            }
        }
    };
    PolicyError::new(path, reason).at(place)
}

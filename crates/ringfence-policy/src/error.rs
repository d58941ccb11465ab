use std::fmt;

/// Characters of a reason, and of a path where it is shown: texts from a document can be as long as that.
const MAX_REASON: usize = 1_024;
const MAX_PATH: usize = 256;

/// A policy document is wrong: where and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct PolicyError {
    path: String,
    place: Option<(u64, u64)>,
    reason: String,
}

impl PolicyError {
    pub(crate) fn new(path: impl Into<String>, reason: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            place: None,
            reason: shortened(reason.into(), MAX_REASON),
        }
    }

    /// The same of a part of `parent`.
    pub(crate) fn below(mut self, parent: &str) -> Self {
        self.path = format!("{parent}.{}", self.path);
        self
    }

    /// Where it is known, the place replaces one that was known before.
    pub(crate) fn at(mut self, place: Option<(u64, u64)>) -> Self {
        self.place = place.or(self.place);
        self
    }

    /// The part that is wrong, for example `rules[0].pools[1].min_share`; empty for the whole document.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Line in the text, from 1, where the document was read from one.
    #[must_use]
    pub fn line(&self) -> Option<u64> {
        self.place.map(|(line, _)| line)
    }

    /// Column in the line, from 1.
    #[must_use]
    pub fn column(&self) -> Option<u64> {
        self.place.map(|(_, column)| column)
    }

    /// What is wrong with it.
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.reason
    }
}

impl fmt::Display for PolicyError {
    /// `rules[0].key at line 4, column 5: ...`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.char_indices().nth(MAX_PATH) {
            _ if self.path.is_empty() => f.write_str("policy")?,
            None => f.write_str(&self.path)?,
            Some((end, _)) => write!(f, "{}...", self.path.get(..end).unwrap_or_default())?,
        }
        if let Some((line, column)) = self.place {
            write!(f, " at line {line}, column {column}")?;
        }
        write!(f, ": {}", self.reason)
    }
}

fn shortened(mut text: String, most: usize) -> String {
    if let Some((end, _)) = text.char_indices().nth(most) {
        text.truncate(end);
        text.push_str("...");
    }
    text
}

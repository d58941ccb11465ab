use std::fmt;

/// Characters of a reason, and of a path where it is shown: texts from a document can be as long as that.
const MAX_REASON: usize = 1_024;
const MAX_PATH: usize = 256;
/// The fields of a document.
const SECTIONS: [&str; 7] = [
    "ringfence",
    "mode",
    "ring",
    "zone",
    "gray",
    "tenants",
    "rules",
];

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

    /// The part of the document at its top that is wrong, for example `rules[0]` or `tenants`. Unlike the whole path it is made of words of
    /// the format alone, and so quotes nothing of the document, such as the name of a tenant. `None` for the whole document, and
    /// for a part that the format does not know.
    #[must_use]
    pub fn section(&self) -> Option<&str> {
        let section = self.path.split('.').next()?;
        let word = match section
            .strip_suffix(']')
            .and_then(|rest| rest.split_once('['))
        {
            Some((word, place)) if place.parse::<usize>().is_ok() => word,
            Some(_) => return None,
            None => section,
        };
        SECTIONS.contains(&word).then_some(section)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PolicyDocument;

    #[test]
    fn a_section_is_told_by_words_of_the_format_alone() {
        let section = |path: &str| {
            let error = PolicyError::new(path, "wrong");
            error.section().map(str::to_owned)
        };
        assert_eq!(
            section("rules[12].pools[0].require.acme").as_deref(),
            Some("rules[12]")
        );
        assert_eq!(section("tenants.acme.size").as_deref(), Some("tenants"));
        for path in [
            "",
            "acme",
            "acme.tenants",
            "rules[acme]",
            "rules[0]x",
            "[0]",
            "rules[0",
        ] {
            assert_eq!(section(path), None, "{path}");
        }
    }

    #[test]
    fn every_field_of_a_document_is_a_section() {
        let text = "ringfence: 1\nmode: observe\nring: { algorithm: maglev }\nzone: { prefer_local: true }\n\
                    gray: { v2: { percent: 5, to: { version: v2 } } }\ntenants: { acme: { mode: salted } }\n\
                    rules: [{ name: all }]\n";
        let document = PolicyDocument::parse(text).expect("legal");
        let written = serde_json::to_value(&document).expect("it can be written");
        let mut fields: Vec<_> = written.as_object().expect("an object").keys().collect();
        let mut sections = SECTIONS;
        fields.sort_unstable();
        sections.sort_unstable();
        assert_eq!(fields, sections);
    }
}

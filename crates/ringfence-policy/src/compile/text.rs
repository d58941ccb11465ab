use regex::bytes::{Regex, RegexBuilder};
use ringfence_core::clip;

use crate::{PolicyError, TextMatch};

/// What the program of a regular expression may need, in bytes.
const REGEX_SIZE: usize = 1 << 20;

/// A checked [`TextMatch`].
#[derive(Debug)]
pub(crate) enum Text {
    Exact(Box<[u8]>),
    OneOf(Box<[Box<[u8]>]>),
    Prefix(Box<[u8]>),
    Regex(Regex),
    Present,
    Absent,
}

impl Text {
    pub(super) fn of(written: &TextMatch, path: &str) -> Result<Self, PolicyError> {
        Ok(match written {
            TextMatch::Exact(text) => Self::Exact(text.as_bytes().into()),
            TextMatch::OneOf(texts) => {
                if texts.is_empty() {
                    return Err(PolicyError::new(
                        format!("{path}.one_of"),
                        "without a text, nothing matches",
                    ));
                }
                Self::OneOf(texts.iter().map(|text| text.as_bytes().into()).collect())
            }
            TextMatch::Prefix(text) => Self::Prefix(text.as_bytes().into()),
            TextMatch::Regex(pattern) => Self::Regex(regex(pattern, &format!("{path}.regex"))?),
            TextMatch::Present(true) => Self::Present,
            TextMatch::Present(false) => Self::Absent,
        })
    }

    pub(crate) fn accepts(&self, text: Option<&[u8]>) -> bool {
        match (self, text) {
            (Self::Exact(exact), Some(text)) => **exact == *text,
            (Self::OneOf(texts), Some(text)) => texts.iter().any(|exact| **exact == *text),
            (Self::Prefix(prefix), Some(text)) => text.starts_with(prefix),
            (Self::Regex(regex), Some(text)) => regex.is_match(text),
            (Self::Present, text) => text.is_some(),
            (Self::Absent, text) => text.is_none(),
            (_, None) => false,
        }
    }

    /// The only texts that match, where they are few enough to be listed.
    pub(super) fn listed(&self) -> Option<Vec<&[u8]>> {
        match self {
            Self::Exact(text) => Some(vec![text]),
            Self::OneOf(texts) => Some(texts.iter().map(|text| &**text).collect()),
            Self::Prefix(_) | Self::Regex(_) | Self::Present | Self::Absent => None,
        }
    }
}

fn regex(pattern: &str, path: &str) -> Result<Regex, PolicyError> {
    let build = |pattern: &str| {
        let regex = RegexBuilder::new(pattern).size_limit(REGEX_SIZE).build();
        regex.map_err(|error| PolicyError::new(path, fault(pattern, &error)))
    };
    // On its own first: `a)|(b` would be legal between parentheses.
    build(pattern)?;
    build(&format!(r"\A(?:{pattern})\z"))
}

/// In one line: the library draws the pattern with a caret under it.
fn fault(pattern: &str, error: &regex::Error) -> String {
    let shown = error.to_string();
    let last = shown.lines().last().unwrap_or_default();
    let reason = last.strip_prefix("error: ").unwrap_or(last);
    format!("`{}` is no regular expression: {reason}", clip(pattern))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(written: &TextMatch) -> Text {
        Text::of(written, "p").expect("legal")
    }

    #[test]
    fn each_kind() {
        let some = |text: &'static str| Some(text.as_bytes());
        for (written, yes, no) in [
            (TextMatch::Exact("a".into()), some("a"), some("A")),
            (
                TextMatch::OneOf(vec!["a".into(), "b".into()]),
                some("b"),
                some("c"),
            ),
            (TextMatch::Prefix("/a".into()), some("/a/b"), some("/b")),
            (TextMatch::Regex("a|bc".into()), some("bc"), some("abc")),
            (TextMatch::Regex("a+".into()), some("aa"), some("aa\n")),
            (
                TextMatch::Regex("(?-u:\\xff)".into()),
                Some(&[255]),
                Some(&[254]),
            ),
            (TextMatch::Present(true), some(""), None),
            (TextMatch::Present(false), None, some("")),
            (TextMatch::Exact(String::new()), some(""), None),
        ] {
            assert!(text(&written).accepts(yes), "{written:?}");
            assert!(!text(&written).accepts(no), "{written:?}");
        }
    }

    #[test]
    fn patterns_are_bounded_and_stand_alone() {
        for pattern in ["a)|(b", "(", r"(?:\pL{100}){100}{100}"] {
            let error = Text::of(&TextMatch::Regex(pattern.into()), "p").expect_err(pattern);
            assert_eq!(error.path(), "p.regex");
        }
    }
}

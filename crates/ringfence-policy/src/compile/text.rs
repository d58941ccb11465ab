use std::cell::Cell;

use regex::bytes::{Regex, RegexBuilder};
use ringfence_core::clip;

use crate::{PolicyError, TextMatch};

/// What the program of a regular expression may need, in bytes: the least of these that is enough is what it counts.
const REGEX_SIZES: [usize; 4] = [1 << 14, 1 << 16, 1 << 18, 1 << 20];
/// What those of a document may need together.
const ALL_REGEXES: usize = 32 << 20;
/// What a regular expression may keep for each thread to be faster.
const REGEX_CACHE: usize = 1 << 18;

/// What is left for the regular expressions of a document.
#[derive(Debug)]
pub(super) struct RegexBudget(Cell<usize>);

impl Default for RegexBudget {
    fn default() -> Self {
        Self(Cell::new(ALL_REGEXES))
    }
}

impl RegexBudget {
    fn take(&self, size: usize, path: &str) -> Result<(), PolicyError> {
        match self.0.get().checked_sub(size) {
            Some(left) => {
                self.0.set(left);
                Ok(())
            }
            None => {
                let reason = "the regular expressions up to here need too much memory together";
                Err(PolicyError::new(path, reason))
            }
        }
    }
}

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
    pub(super) fn of(
        written: &TextMatch,
        path: &str,
        budget: &RegexBudget,
    ) -> Result<Self, PolicyError> {
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
            TextMatch::Regex(pattern) => {
                Self::Regex(regex(pattern, &format!("{path}.regex"), budget)?)
            }
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

fn regex(pattern: &str, path: &str, budget: &RegexBudget) -> Result<Regex, PolicyError> {
    let whole = format!(r"\A(?:{pattern})\z");
    let build = |pattern: &str, size: usize| {
        let mut builder = RegexBuilder::new(pattern);
        builder.size_limit(size).dfa_size_limit(REGEX_CACHE).build()
    };
    let mut last = None;
    for size in REGEX_SIZES {
        // On its own first: `a)|(b` would be legal between parentheses.
        let built = build(pattern, size).and_then(|_| build(&whole, size));
        match built {
            Ok(regex) => {
                budget.take(size, path)?;
                return Ok(regex);
            }
            Err(error @ regex::Error::CompiledTooBig(_)) => last = Some(error),
            Err(error) => return Err(PolicyError::new(path, fault(pattern, &error))),
        }
    }
    let reason = last.map_or_else(String::new, |error| fault(pattern, &error));
    Err(PolicyError::new(path, reason))
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
        Text::of(written, "p", &RegexBudget::default()).expect("legal")
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
            let written = TextMatch::Regex(pattern.into());
            let error = Text::of(&written, "p", &RegexBudget::default()).expect_err(pattern);
            assert_eq!(error.path(), "p.regex");
        }
    }

    #[test]
    fn many_small_patterns_are_legal_and_many_large_ones_are_not() {
        let legal = |pattern: &str, most: usize| {
            let (written, budget) = (TextMatch::Regex(pattern.into()), RegexBudget::default());
            let texts = (0..most).map(|_| Text::of(&written, "p", &budget));
            texts.take_while(Result::is_ok).count()
        };
        assert_eq!(legal("/v1/[a-z]+/[0-9]+", 2_000), 2_000);
        assert!(legal(r"\w{20}", 200) < 200);
    }
}

//! Where the key of a request comes from.

mod binary;
mod buffer;
mod cookie;
mod normalise;
mod query;
mod source;
#[cfg(test)]
mod tests;

pub use self::buffer::KeyBytes;
pub(crate) use self::source::Source;
use crate::{KeySecret, Normaliser, RequestHead};

/// What the key sources of a rule gave.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct FoundKey<'a> {
    /// The key as the ring gets it, and the place of its source in the rule's list.
    pub key: Option<(KeyBytes<'a>, usize)>,
    /// How many sources before it had a key that is too long.
    pub too_long: u32,
    /// How many sources before it had a value that cannot be read, such as binary metadata that is no base64.
    pub malformed: u32,
}

/// What one source has.
#[derive(Debug)]
pub(crate) enum Reading<'a> {
    Key(KeyBytes<'a>),
    Absent,
    TooLong,
    Malformed,
}

impl<'a> Reading<'a> {
    fn of(bytes: Option<&'a [u8]>) -> Self {
        bytes.map_or(Self::Absent, |bytes| Self::Key(KeyBytes::borrowed(bytes)))
    }

    /// Empty keys count as absent.
    fn within(self, max_len: usize) -> Self {
        match self {
            Self::Key(key) if key.is_empty() => Self::Absent,
            Self::Key(key) if key.len() > max_len => Self::TooLong,
            other => other,
        }
    }
}

/// A place and the way to a usual form.
#[derive(Clone, Debug)]
pub(crate) struct NormalisedSource {
    pub(crate) source: Source,
    pub(crate) normalise: Box<[Normaliser]>,
}

impl NormalisedSource {
    /// As it is written in the request.
    pub(crate) fn raw<'a>(&'a self, head: &RequestHead<'a>, max_len: usize) -> Reading<'a> {
        self.source.read(head, max_len).within(max_len)
    }

    pub(crate) fn read<'a>(&'a self, head: &RequestHead<'a>, max_len: usize) -> Reading<'a> {
        let reading = self.raw(head, max_len);
        if self.normalise.is_empty() {
            return reading;
        }
        match reading {
            Reading::Key(key) => {
                let steps = self.normalise.iter();
                Reading::Key(steps.fold(key, |key, step| step.apply(key))).within(max_len)
            }
            other => other,
        }
    }
}

/// Where a rule finds its keys.
#[derive(Clone, Debug)]
pub(crate) struct KeyFinder {
    pub(crate) sources: Box<[NormalisedSource]>,
    pub(crate) max_len: usize,
    pub(crate) secret: Option<KeySecret>,
}

impl KeyFinder {
    /// The key of the first source that yields one.
    pub(crate) fn find<'a>(&'a self, head: &RequestHead<'a>) -> FoundKey<'a> {
        let mut found = FoundKey::default();
        for (place, source) in self.sources.iter().enumerate() {
            match source.read(head, self.max_len) {
                Reading::Key(key) => {
                    found.key = Some((self.as_hashed(key), place));
                    break;
                }
                Reading::Absent => {}
                Reading::TooLong => found.too_long += 1,
                Reading::Malformed => found.malformed += 1,
            }
        }
        found
    }

    fn as_hashed<'a>(&self, key: KeyBytes<'a>) -> KeyBytes<'a> {
        let Some(secret) = &self.secret else {
            return key;
        };
        let mut mac = KeyBytes::empty();
        mac.extend(&secret.mac(&key));
        mac
    }
}

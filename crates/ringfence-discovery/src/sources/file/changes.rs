//! When a content of the file is news: a state machine over successive reads.

use super::{
    NAME,
    read::{Content, Digest},
};
use crate::DiscoveryError;

/// What one stream knows of the file. It remembers digests, not contents.
#[derive(Debug, Default)]
pub(super) struct Changes {
    started: bool,
    /// Content of the last read.
    seen: Option<Digest>,
    /// Content that was last parsed, for better or worse.
    parsed: Option<Digest>,
    /// The fault that was told and lasts.
    fault: Option<String>,
}

/// What a read means.
#[derive(Debug)]
pub(super) enum Observed {
    /// Nothing to tell.
    Nothing,
    /// A fault to tell.
    Fault(DiscoveryError),
    /// A content to parse; the result goes to [`Changes::parsed`].
    New(Content),
}

impl Changes {
    /// Takes the next read.
    ///
    /// A content counts when two reads in a row found it, since a single one may have met the file half written; the very
    /// first also counts when it was written long ago. A fault is told once.
    pub(super) fn observe(&mut self, read: Result<Content, DiscoveryError>) -> Observed {
        let first = !std::mem::replace(&mut self.started, true);
        let content = match read {
            Ok(content) => content,
            Err(error) => {
                self.seen = None;
                self.parsed = None;
                return self.fault(error).map_or(Observed::Nothing, Observed::Fault);
            }
        };
        let stable = self.seen == Some(content.digest) || (first && content.settled);
        self.seen = Some(content.digest);
        if !stable || self.parsed == Some(content.digest) {
            return Observed::Nothing;
        }
        self.parsed = Some(content.digest);
        Observed::New(content)
    }

    /// Takes what a new content was parsed to, and gives what is to be told.
    pub(super) fn parsed<T>(
        &mut self,
        parsed: Result<T, DiscoveryError>,
    ) -> Option<Result<T, DiscoveryError>> {
        match parsed {
            Ok(told) => {
                self.fault = None;
                Some(Ok(told))
            }
            Err(error) => self.fault(error).map(Err),
        }
    }

    fn fault(&mut self, error: DiscoveryError) -> Option<DiscoveryError> {
        if self.fault.as_deref() == Some(error.message()) {
            return None;
        }
        self.fault = Some(error.message().to_owned());
        tracing::debug!(source = NAME, error = %error, "file is unusable");
        Some(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ErrorKind, Provenance, Update};

    type Reading = Result<Update, DiscoveryError>;

    fn content(text: &str, settled: bool) -> Result<Content, DiscoveryError> {
        Ok(Content {
            bytes: Some(text.as_bytes().to_vec()),
            digest: Digest::of(text.as_bytes()),
            settled,
        })
    }

    fn next(changes: &mut Changes, read: Result<Content, DiscoveryError>) -> Option<Reading> {
        match changes.observe(read) {
            Observed::Nothing => None,
            Observed::Fault(error) => Some(Err(error)),
            Observed::New(content) => changes.parsed(parse(&content)),
        }
    }

    fn parse(content: &Content) -> Reading {
        if content
            .bytes
            .as_deref()
            .unwrap_or_default()
            .starts_with(b"bad")
        {
            return Err(DiscoveryError::new(ErrorKind::Malformed, NAME, "bad"));
        }
        Ok(Update::no_such_service(Provenance::live(NAME)))
    }

    /// `.` nothing, `+` an update, `!` an error, for one read each.
    fn told(reads: &[&str]) -> String {
        let mut changes = Changes::default();
        let tell = |read: &&str| {
            let read = match *read {
                "missing" => Err(DiscoveryError::new(ErrorKind::Unavailable, NAME, "missing")),
                text => content(text.trim_end_matches('*'), text.ends_with('*')),
            };
            match next(&mut changes, read) {
                None => '.',
                Some(Ok(_)) => '+',
                Some(Err(_)) => '!',
            }
        };
        reads.iter().map(tell).collect()
    }

    #[test]
    fn a_content_counts_at_its_second_read() {
        assert_eq!(told(&["a", "a", "a"]), ".+.");
        assert_eq!(told(&["a*", "a*", "b*", "b*"]), "+..+");
        assert_eq!(told(&["a", "half", "b", "b"]), "...+");
        assert_eq!(told(&["a", "a", "half", "a", "a"]), ".+...");
    }

    #[test]
    fn a_fault_is_told_once_and_a_recovery_always() {
        assert_eq!(told(&["missing", "missing", "a", "a"]), "!..+");
        assert_eq!(told(&["a", "a", "missing", "missing", "a", "a"]), ".+!..+");
        assert_eq!(told(&["bad", "bad", "bad", "bad2", "bad2"]), ".!...");
        assert_eq!(
            told(&["a", "a", "bad", "bad", "a", "a", "bad", "bad"]),
            ".+.!.+.!"
        );
    }
}

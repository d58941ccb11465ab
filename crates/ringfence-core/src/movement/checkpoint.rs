use std::{fmt, str::FromStr};

use xxhash_rust::xxh3::xxh3_64;

use super::{RingDiff, WithoutRanges};

/// How far a [`Migration`](crate::Migration) is, to be kept where it outlives the process.
///
/// Its text form is what [`Display`](fmt::Display) writes and [`FromStr`] reads: lines of a name and a value, in this order. The
/// first says the version, the last is a digest (XXH3, 64 bits, seed 0) of all lines before it, so that a cut or altered text
/// is refused.
///
/// ```text
/// ringfence-migration 1
/// before 73c579553fb5a109e94d6ececef9ed50
/// after 497992153273988cdbcea73d7fcd1131
/// position 1298012553685496349
/// batches 1
/// late 1
/// moved 41
/// skipped 3
/// digest 10fab6309bfeb27c
/// ```
///
/// `before` and `after` are the fingerprints of the rings, `position` is where the first range begins that is not done, or `end`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    before: u128,
    after: u128,
    position: Option<u64>,
    counts: Counts,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) batches: u64,
    pub(super) late: u64,
    pub(super) moved: u64,
    pub(super) skipped: u64,
}

/// A checkpoint cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointError {
    /// It is of a change between other rings.
    #[error("the checkpoint is of a change between other rings")]
    OtherRings,
    /// What moves is not known as ranges.
    #[error(transparent)]
    WithoutRanges(#[from] WithoutRanges),
    /// No moved range begins where it stopped, so something is wrong with it.
    #[error("no moved range begins at position {position}")]
    NoSuchRange {
        /// Where it stopped.
        position: u64,
    },
    /// It was written by a version that this one does not know.
    #[error(
        "the checkpoint has version {version}, known is {}",
        Checkpoint::VERSION
    )]
    Version {
        /// Its version.
        version: u32,
    },
    /// It is no checkpoint, or was cut or altered.
    #[error("line {line} of the checkpoint: {fault}")]
    Malformed {
        /// Where, from 1.
        line: usize,
        /// What is wrong there.
        fault: &'static str,
    },
}

const MAGIC: &str = "ringfence-migration";
const END: &str = "end";

impl Checkpoint {
    /// Version of the text form.
    pub const VERSION: u32 = 1;

    pub(super) fn new(diff: &RingDiff, position: Option<u64>, counts: Counts) -> Self {
        Self {
            before: diff.before().fingerprint().get(),
            after: diff.after().fingerprint().get(),
            position,
            counts,
        }
    }

    pub(super) fn is_of(&self, diff: &RingDiff) -> bool {
        self.before == diff.before().fingerprint().get()
            && self.after == diff.after().fingerprint().get()
    }

    /// Where the first range begins that is not done; `None`: all are.
    #[must_use]
    pub fn position(&self) -> Option<u64> {
        self.position
    }

    pub(super) fn counts(&self) -> Counts {
        self.counts
    }

    fn body(&self) -> String {
        let Counts {
            batches,
            late,
            moved,
            skipped,
        } = self.counts;
        let position = self.position.map(|position| position.to_string());
        let position = position.as_deref().unwrap_or(END);
        let (version, before, after) = (Self::VERSION, self.before, self.after);
        format!(
            "{MAGIC} {version}\nbefore {before:032x}\nafter {after:032x}\nposition {position}\n\
             batches {batches}\nlate {late}\nmoved {moved}\nskipped {skipped}\n"
        )
    }
}

impl fmt::Display for Checkpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let body = self.body();
        let digest = xxh3_64(body.as_bytes());
        writeln!(f, "{body}digest {digest:016x}")
    }
}

impl FromStr for Checkpoint {
    type Err = CheckpointError;

    fn from_str(text: &str) -> Result<Self, CheckpointError> {
        let mut lines = Lines { text, line: 0 };
        let version = lines.number(MAGIC)?;
        if version != u64::from(Self::VERSION) {
            let version = u32::try_from(version).unwrap_or(u32::MAX);
            return Err(CheckpointError::Version { version });
        }
        let checkpoint = Self {
            before: lines.hexadecimal("before")?,
            after: lines.hexadecimal("after")?,
            position: lines.position()?,
            counts: Counts {
                batches: lines.number("batches")?,
                late: lines.number("late")?,
                moved: lines.number("moved")?,
                skipped: lines.number("skipped")?,
            },
        };
        lines.hexadecimal("digest")?;
        // Only the one spelling is taken, the digest included.
        if checkpoint.to_string() != text {
            return Err(lines.fault("the digest does not fit the lines before it"));
        }
        Ok(checkpoint)
    }
}

/// What is left to read.
struct Lines<'a> {
    text: &'a str,
    line: usize,
}

impl<'a> Lines<'a> {
    fn fault(&self, fault: &'static str) -> CheckpointError {
        let line = self.line;
        CheckpointError::Malformed { line, fault }
    }

    fn value(&mut self, name: &'static str) -> Result<&'a str, CheckpointError> {
        self.line += 1;
        let ended = self.text.split_once('\n');
        let (line, rest) = ended.ok_or_else(|| self.fault("it ends too early"))?;
        self.text = rest;
        let value = line.strip_prefix(name).and_then(|l| l.strip_prefix(' '));
        value.ok_or_else(|| self.fault("another line belongs here"))
    }

    fn number(&mut self, name: &'static str) -> Result<u64, CheckpointError> {
        let value = self.value(name)?;
        value.parse().map_err(|_| self.fault("no whole number"))
    }

    fn hexadecimal(&mut self, name: &'static str) -> Result<u128, CheckpointError> {
        let value = self.value(name)?;
        u128::from_str_radix(value, 16).map_err(|_| self.fault("no hexadecimal number"))
    }

    fn position(&mut self) -> Result<Option<u64>, CheckpointError> {
        let value = self.value("position")?;
        if value == END {
            return Ok(None);
        }
        let position = value.parse();
        position
            .map(Some)
            .map_err(|_| self.fault("neither a whole number nor `end`"))
    }
}

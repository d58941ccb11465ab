//! What is kept of a range of keys.

use crate::connection::Failure;

/// What became of a key.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Change<'a> {
    /// It has this value since this revision.
    Put(&'a [u8], i64),
    /// It has a value that is too long to be read.
    Unreadable,
    Deleted,
}

/// A copy of a range of keys, filled by a list and kept up by a watch.
pub(crate) trait Mirror: Send + Sync + 'static {
    /// What the keys are, as a whole.
    type Whole: Send + 'static;
    /// For messages: what is read.
    const WHAT: &str;

    /// The first key of the range.
    fn start(&self) -> &[u8];

    /// The first key after it.
    fn end(&self) -> Vec<u8>;

    /// The highest revision that is known to be in here.
    fn revision(&self) -> u64;

    /// Everything up to `revision` is in here.
    fn reached(&mut self, revision: i64);

    /// A key changed.
    fn apply(&mut self, key: &[u8], change: Change<'_>) -> Result<(), Failure>;

    fn whole(&mut self) -> Self::Whole;
}

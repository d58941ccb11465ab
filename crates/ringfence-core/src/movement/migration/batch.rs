use std::{fmt, sync::Arc, time::Instant};

use crate::movement::{MovedRange, RingDiff, sweep::Piece};

/// Ranges to be moved, and until when.
#[derive(Clone)]
pub struct MigrationBatch {
    pub(super) diff: Arc<RingDiff>,
    pub(super) first: usize,
    pub(super) count: usize,
    pub(super) deadline: Instant,
}

impl MigrationBatch {
    pub(super) fn pieces(&self) -> &[Piece] {
        let pieces = self.diff.pieces();
        pieces
            .get(self.first..self.first + self.count)
            .unwrap_or_default()
    }

    /// The ranges, in order; at least one.
    #[must_use]
    pub fn ranges(&self) -> impl ExactSizeIterator<Item = MovedRange<'_>> {
        self.pieces().iter().map(|&piece| self.diff.range(piece))
    }

    /// When it has to be done.
    #[must_use]
    pub fn deadline(&self) -> Instant {
        self.deadline
    }
}

impl fmt::Debug for MigrationBatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MigrationBatch")
            .field("first", &self.first)
            .field("ranges", &self.count)
            .field("deadline", &self.deadline)
            .finish()
    }
}

/// A batch was not taken as done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BatchError {
    /// Its time was over; it is handed out again.
    #[error("the batch was done after its deadline and has to be done again")]
    Late,
    /// It was completed before, or it is of another migration.
    #[error("the batch is not the one that is under way")]
    NotUnderWay,
}

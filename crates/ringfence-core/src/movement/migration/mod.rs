mod batch;
mod config;

use std::{sync::Arc, time::Instant};

pub use self::{
    batch::{BatchError, MigrationBatch},
    config::MigrationConfig,
};
use super::{
    Basis, Checkpoint, CheckpointError, RingDiff, WithoutRanges, checkpoint::Counts, sweep::Piece,
};
use crate::key_share::KeyShare;

/// Hands out the moved ranges of a [`RingDiff`] in batches, for those who must move what belongs to the keys, and keeps count.
///
/// A batch is handed out again until it is [completed](Self::complete) in time, so whatever moves the data must be able to do
/// a batch twice. A [`Checkpoint`] says how far it is; with the same two rings another process
/// [goes on](Self::resume) there, and with others it is refused.
///
/// # Examples
/// ```
/// use std::{sync::Arc, time::{Duration, Instant}};
/// use ringfence_core::{Instance, Migration, MigrationConfig, Pool, Ring, RingConfig, RingDiff, Selector, Snapshot};
///
/// # let ring = |ids: &[&str]| {
/// #     let instances = ids.iter().map(|id| Instance::builder(id, "10.0.0.1:80").build());
/// #     let snapshot = Arc::new(instances.collect::<Result<Snapshot, _>>()?);
/// #     Ok::<_, ringfence_core::InstanceError>(Arc::new(Ring::build(&Pool::select(&snapshot, &Selector::any()), &RingConfig::default())))
/// # };
/// let diff = Arc::new(RingDiff::between(ring(&["a", "b"])?, ring(&["a", "b", "c"])?)?);
/// let mut migration = Migration::new(Arc::clone(&diff), MigrationConfig::default())?;
/// while let Some(batch) = migration.next_batch(Instant::now()) {
///     let (mut moved, mut skipped) = (0, 0);
///     for range in batch.ranges() {
///         // Copy the keys of the range from `range.from` to `range.to`, and count them.
///         moved += 1;
///     }
///     migration.complete(&batch, moved, skipped, Instant::now())?;
///     let text = migration.checkpoint().to_string(); // to be written where it outlives the process
/// }
/// assert!(migration.progress().remaining.is_zero());
///
/// let resumed = Migration::resume(diff, MigrationConfig::default(), &migration.checkpoint())?;
/// assert!(resumed.is_done());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Migration {
    diff: Arc<RingDiff>,
    config: MigrationConfig,
    /// Place of the first range that is not done.
    next: usize,
    total: u128,
    remaining: u128,
    counts: Counts,
}

/// How far a [`Migration`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MigrationProgress {
    /// Batches that were completed.
    pub batches: u64,
    /// Batches that came too late and have to be done again.
    pub late: u64,
    /// Keys that were moved, as the caller counted them.
    pub moved: u64,
    /// Keys that the caller left behind, such as ones that nobody has read for long.
    pub skipped: u64,
    /// Share of the key space that moves and is done.
    pub done: KeyShare,
    /// Share of it that is left to do.
    pub remaining: KeyShare,
}

impl Migration {
    /// Begins with the first moved range.
    ///
    /// # Errors
    /// [`WithoutRanges`] if the diff does not know what moves as [ranges of the key space](Basis::KeySpace): a
    /// [sample](RingDiff::sampled), and Maglev's table.
    pub fn new(diff: Arc<RingDiff>, config: MigrationConfig) -> Result<Self, WithoutRanges> {
        ranges_of(&diff)?;
        Ok(Self::at(diff, config, 0, Counts::default()))
    }

    /// Goes on where a checkpoint says. Doing so twice is as doing it once.
    ///
    /// # Errors
    /// [`CheckpointError::OtherRings`] if the checkpoint is of a change between other rings,
    /// [`CheckpointError::WithoutRanges`] if there are [none](Self::new), [`CheckpointError::NoSuchRange`] if no moved range begins where it stopped.
    pub fn resume(
        diff: Arc<RingDiff>,
        config: MigrationConfig,
        checkpoint: &Checkpoint,
    ) -> Result<Self, CheckpointError> {
        ranges_of(&diff)?;
        if !checkpoint.is_of(&diff) {
            return Err(CheckpointError::OtherRings);
        }
        let next = match checkpoint.position() {
            Some(position) => {
                let found = diff.pieces().binary_search_by_key(&position, |p| p.start);
                found.map_err(|_| CheckpointError::NoSuchRange { position })?
            }
            None => diff.pieces().len(),
        };
        Ok(Self::at(diff, config, next, checkpoint.counts()))
    }

    fn at(diff: Arc<RingDiff>, config: MigrationConfig, next: usize, counts: Counts) -> Self {
        let (done, left) = diff.pieces().split_at_checked(next).unwrap_or_default();
        let remaining = width(left);
        Self {
            total: width(done) + remaining,
            remaining,
            diff,
            config,
            next,
            counts,
        }
    }

    /// The next ranges to be moved, by `now` plus the [time for a batch](MigrationConfig::with_batch_timeout); `None` when all is
    /// done. It gives the same ranges again until they are [completed](Self::complete).
    #[must_use]
    pub fn next_batch(&self, now: Instant) -> Option<MigrationBatch> {
        let left = self.diff.pieces().len().saturating_sub(self.next);
        let batch = |deadline| MigrationBatch {
            diff: Arc::clone(&self.diff),
            first: self.next,
            count: left.min(self.config.batch_ranges()),
            deadline,
        };
        // Within a day of `now`, which every clock can tell.
        let deadline = now.checked_add(self.config.batch_timeout()).unwrap_or(now);
        (left > 0).then(|| batch(deadline))
    }

    /// Takes note that a batch is done at `now`, with how many keys were moved and how many were skipped.
    ///
    /// # Errors
    /// [`BatchError::Late`] after its deadline, which is counted; [`BatchError::NotUnderWay`] if it was completed already. Neither
    /// changes how far the migration is.
    pub fn complete(
        &mut self,
        batch: &MigrationBatch,
        moved: u64,
        skipped: u64,
        now: Instant,
    ) -> Result<(), BatchError> {
        if batch.first != self.next || !Arc::ptr_eq(&batch.diff, &self.diff) {
            return Err(BatchError::NotUnderWay);
        }
        if now > batch.deadline {
            self.counts.late = self.counts.late.saturating_add(1);
            return Err(BatchError::Late);
        }
        self.next += batch.count;
        self.remaining = self.remaining.saturating_sub(width(batch.pieces()));
        let counts = &mut self.counts;
        counts.batches = counts.batches.saturating_add(1);
        counts.moved = counts.moved.saturating_add(moved);
        counts.skipped = counts.skipped.saturating_add(skipped);
        Ok(())
    }

    /// Whether all moved ranges are done.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.next >= self.diff.pieces().len()
    }

    /// How far it is.
    #[must_use]
    pub fn progress(&self) -> MigrationProgress {
        let moves = self.diff.moved_share();
        let share = |part| KeyShare::new(part, moves.whole());
        MigrationProgress {
            batches: self.counts.batches,
            late: self.counts.late,
            moved: self.counts.moved,
            skipped: self.counts.skipped,
            done: share(self.total.saturating_sub(self.remaining)),
            remaining: share(self.remaining),
        }
    }

    /// Where another process may go on.
    #[must_use]
    pub fn checkpoint(&self) -> Checkpoint {
        let next = self.diff.pieces().get(self.next);
        Checkpoint::new(&self.diff, next.map(|piece| piece.start), self.counts)
    }
}

fn width(pieces: &[Piece]) -> u128 {
    pieces.iter().copied().map(Piece::width).sum()
}

fn ranges_of(diff: &RingDiff) -> Result<(), WithoutRanges> {
    match diff.basis() {
        Basis::KeySpace => Ok(()),
        Basis::Table(_) => Err(WithoutRanges::NotByPosition),
        Basis::Sample(_) => Err(WithoutRanges::Sampled),
    }
}

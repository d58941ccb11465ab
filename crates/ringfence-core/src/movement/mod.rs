//! Which keys a change of a ring moves, from whom to whom, and how what belongs to them follows.

mod checkpoint;
mod diff;
mod migration;
mod share;
mod sweep;
mod window;

pub use self::{
    checkpoint::{Checkpoint, CheckpointError},
    diff::{Basis, KeyMove, MovedRange, RingDiff, WithoutRanges},
    migration::{BatchError, Migration, MigrationBatch, MigrationConfig, MigrationProgress},
    share::KeyShare,
    window::MovementWindow,
};

//! Which keys a change of a ring moves, from whom to whom, and how what belongs to them follows.

mod checkpoint;
mod diff;
mod migration;
mod parts;
mod sweep;
mod window;

pub use self::{
    checkpoint::{Checkpoint, CheckpointError},
    diff::RingDiff,
    migration::{BatchError, Migration, MigrationBatch, MigrationConfig, MigrationProgress},
    parts::{Basis, KeyMove, MovedRange, WithoutRanges},
    window::MovementWindow,
};

//! Batches of moved ranges, and the text of a checkpoint.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use ringfence_core::{
    BatchError, Checkpoint, CheckpointError, Migration, MigrationConfig, RingDiff,
};

use crate::{between, orders};

fn joined() -> Arc<RingDiff> {
    Arc::new(between(&orders(&[1, 2, 3]), &orders(&[1, 2, 3, 4])))
}

fn config(ranges: usize) -> MigrationConfig {
    let config = MigrationConfig::default().with_batch_ranges(ranges);
    config.expect("in range")
}

#[test]
fn batches_give_each_moved_range_once_and_in_order() {
    let (diff, now) = (joined(), Instant::now());
    let mut migration = Migration::new(Arc::clone(&diff), config(10)).unwrap();
    let mut seen = Vec::new();
    while let Some(batch) = migration.next_batch(now) {
        assert!((1..=10).contains(&batch.ranges().len()));
        assert_eq!(batch.deadline(), now + Duration::from_millis(500));
        seen.extend(batch.ranges().map(|r| (r.start, r.end)));
        migration.complete(&batch, 3, 1, now).expect("in time");
    }
    let all: Vec<_> = diff.moved_ranges().map(|r| (r.start, r.end)).collect();
    assert_eq!(seen, all);
    let progress = migration.progress();
    let batches = all.len().div_ceil(10) as u64;
    assert_eq!((progress.batches, progress.late), (batches, 0));
    assert_eq!((progress.moved, progress.skipped), (3 * batches, batches));
    assert_eq!(progress.done, diff.moved_share());
    assert!(progress.remaining.is_zero() && migration.is_done());
}

#[test]
fn a_late_batch_is_done_again_and_a_batch_counts_once() {
    let (diff, now) = (joined(), Instant::now());
    let mut migration = Migration::new(diff, config(10)).unwrap();
    let first = migration.next_batch(now).expect("there is much");
    let late = now + Duration::from_millis(501);
    assert_eq!(
        migration.complete(&first, 5, 0, late),
        Err(BatchError::Late)
    );
    assert_eq!(
        (migration.progress().moved, migration.progress().late),
        (0, 1)
    );

    let again = migration.next_batch(late).expect("the same");
    assert!(again.ranges().eq(first.ranges()));
    let just_in_time = again.deadline();
    assert_eq!(migration.complete(&again, 5, 0, just_in_time), Ok(()));
    let twice = migration.complete(&again, 5, 0, just_in_time);
    assert_eq!(twice, Err(BatchError::NotUnderWay));
    assert_eq!(migration.progress().moved, 5);

    let other = Migration::new(joined(), config(10)).unwrap();
    let foreign = other.next_batch(now).expect("there is much");
    assert_eq!(
        migration.complete(&foreign, 1, 0, now),
        Err(BatchError::NotUnderWay)
    );
}

/// A process that dies between any two batches goes on where the checkpoint says, as often as it likes.
#[test]
fn a_migration_resumes_at_each_of_its_checkpoints() {
    let (diff, now) = (joined(), Instant::now());
    let all = diff.moved_ranges().len();
    let mut text = Migration::new(Arc::clone(&diff), config(7))
        .unwrap()
        .checkpoint()
        .to_string();
    let mut seen = Vec::new();
    loop {
        let checkpoint: Checkpoint = text.parse().expect("written by us");
        let resume = || Migration::resume(Arc::clone(&diff), config(7), &checkpoint);
        let mut migration = resume().expect("of these rings");
        assert_eq!(migration.checkpoint(), checkpoint);
        assert_eq!(
            migration.progress(),
            resume().expect("of these rings").progress()
        );
        let Some(batch) = migration.next_batch(now) else {
            break;
        };
        seen.extend(batch.ranges().map(|r| r.start));
        migration.complete(&batch, 2, 0, now).expect("in time");
        text = migration.checkpoint().to_string();
    }
    assert!(
        seen.iter()
            .copied()
            .eq(diff.moved_ranges().map(|r| r.start))
    );
    let checkpoint: Checkpoint = text.parse().expect("written by us");
    assert_eq!(checkpoint.position(), None);
    let done = Migration::resume(diff, config(7), &checkpoint).expect("of these rings");
    assert_eq!(done.progress().batches, all.div_ceil(7) as u64);
    assert!(done.is_done());
}

#[test]
fn checkpoints_of_other_rings_are_refused() {
    let checkpoint = Migration::new(joined(), config(1)).unwrap().checkpoint();
    for (before, after) in [([1, 2, 3], [1, 2, 4]), ([1, 2, 4], [1, 2, 3])] {
        let other = Arc::new(between(&orders(&before), &orders(&after)));
        let resumed = Migration::resume(other, config(1), &checkpoint);
        assert_eq!(resumed.err(), Some(CheckpointError::OtherRings));
    }
    let back = Arc::new(between(&orders(&[1, 2, 3, 4]), &orders(&[1, 2, 3])));
    let resumed = Migration::resume(back, config(1), &checkpoint);
    assert_eq!(resumed.err(), Some(CheckpointError::OtherRings));
}

/// The form is kept on disk between versions.
#[test]
fn the_text_of_a_checkpoint_is_golden() {
    let (diff, now) = (joined(), Instant::now());
    let mut migration = Migration::new(Arc::clone(&diff), config(10)).unwrap();
    let batch = migration.next_batch(now).expect("there is much");
    assert!(
        migration
            .complete(&batch, 9, 9, batch.deadline() + Duration::from_secs(1))
            .is_err()
    );
    migration.complete(&batch, 41, 3, now).expect("in time");
    let golden = include_str!("../golden/migration-checkpoint-v1.txt");
    assert_eq!(migration.checkpoint().to_string(), golden);
    let read: Checkpoint = golden.parse().expect("of this version");
    let resumed = Migration::resume(diff, config(10), &read).expect("of these rings");
    assert_eq!(resumed.progress(), migration.progress());
}

#[test]
fn a_text_that_is_cut_altered_or_of_another_version_is_refused() {
    let golden = include_str!("../golden/migration-checkpoint-v1.txt");
    for cut in 0..golden.len() {
        assert!(golden[..cut].parse::<Checkpoint>().is_err(), "cut at {cut}");
    }
    for at in 0..golden.len() {
        let mut bytes = golden.as_bytes().to_vec();
        bytes[at] ^= 1;
        let text = String::from_utf8(bytes).expect("still ASCII");
        assert!(text.parse::<Checkpoint>().is_err(), "altered at {at}");
    }
    assert!(format!("{golden}\n").parse::<Checkpoint>().is_err());
    let newer = golden.replacen("migration 1", "migration 2", 1);
    assert_eq!(
        newer.parse::<Checkpoint>(),
        Err(CheckpointError::Version { version: 2 })
    );
    let fault = golden.replacen("position ", "position x", 1);
    let told = fault
        .parse::<Checkpoint>()
        .expect_err("no number")
        .to_string();
    assert_eq!(
        told,
        "line 4 of the checkpoint: neither a whole number nor `end`"
    );
}

#[test]
fn a_change_that_moves_nothing_is_done_at_once() {
    let equal = Arc::new(between(&orders(&[1, 2]), &orders(&[1, 2])));
    let migration = Migration::new(equal, MigrationConfig::default()).unwrap();
    assert!(migration.is_done() && migration.next_batch(Instant::now()).is_none());
    assert!(migration.progress().done.is_zero());
}

/// It would say that nothing is left to do while keys move.
#[test]
fn what_is_not_known_as_ranges_is_refused() {
    let checkpoint = Migration::new(joined(), config(1)).unwrap().checkpoint();
    let sample = Arc::new(RingDiff::sampled(orders(&[1]), orders(&[2]), ["a", "b"]));
    assert!(Migration::new(Arc::clone(&sample), config(1)).is_err());
    let resumed = Migration::resume(sample, config(1), &checkpoint);
    assert!(matches!(resumed, Err(CheckpointError::WithoutRanges(_))));
}

#[test]
fn settings_have_ranges() {
    let config = MigrationConfig::default();
    assert_eq!(
        (config.batch_ranges(), config.batch_timeout()),
        (128, Duration::from_millis(500))
    );
    assert!(config.with_batch_ranges(0).is_err() && config.with_batch_ranges(65_537).is_err());
    assert!(config.with_batch_timeout(Duration::ZERO).is_err());
    assert!(config.with_batch_timeout(Duration::MAX).is_err());
}

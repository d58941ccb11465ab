//! Random misbehaviour: whatever a source does, only what it said is reported, and in the end the truth is.

use ringfence_discovery::{Event, Update, WatchConfig};

use crate::script::{Fetch, Script, Step, during, gone, list, millis, secs, show};

const STATES: [&str; 8] = ["abcdef", "abcde", "abc", "ab", "f", "", "bcdefg", "-"];

/// A state of the registry, with or without a revision.
fn update(state: &str, revision: Option<u64>) -> Update {
    let update = if state == "-" { gone() } else { list(state) };
    match revision {
        Some(revision) => update.with_revision(revision),
        None => update,
    }
}

fn named(state: &str) -> String {
    if state == "-" {
        "no such service".to_owned()
    } else {
        state.to_owned()
    }
}

/// Gives the truth of the end. `left`: what a run before may have left on disk, for one that starts without an answer.
async fn run(
    seed: u64,
    versioned: bool,
    config: WatchConfig,
    left: Option<&'static str>,
) -> &'static str {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut revision = 100;
    let mut truth = STATES[0];
    let at = |revision: u64| versioned.then_some(revision);
    let first = Step::Yield(Ok(update(truth, at(revision))));
    let script = Script::new([match left {
        None => vec![first],
        Some(_) if rng.bool() => vec![Step::Yield(Err("refused")), Step::End],
        Some(_) => vec![Step::Wait(millis(rng.u64(0..5_000))), first],
    }]);
    let mut supervisor = script.supervise(config.with_seed(seed));
    let mut last = None;
    let mut history: Vec<(&str, u64)> = vec![(truth, revision)];
    history.extend(left.map(|left| (left, revision)));
    for _ in 0..rng.usize(1..40) {
        match rng.u8(0..10) {
            // The registry changes; the watch tells it, or not.
            0..4 => {
                truth = STATES[rng.usize(0..STATES.len())];
                // Now and then it is reset and counts anew.
                revision = if rng.u8(0..10) == 0 { 1 } else { revision + 1 };
                history.push((truth, revision));
                if rng.bool() && script.is_watched() {
                    script.push(Ok(update(truth, at(revision))));
                }
            }
            // The watch tells something old.
            4 => {
                let (state, old) = history[rng.usize(0..history.len())];
                if versioned && script.is_watched() {
                    script.push(Ok(update(state, at(old))));
                }
            }
            5 if script.is_watched() => script.push(Err("refused")),
            6 => script.end(),
            7 => script.fetch(Fetch::Hang),
            8 => script.fetch(Fetch::Give(Err("no leader"))),
            _ => {
                let wait = millis(rng.u64(0..3_000));
                script.fetch(Fetch::After(wait, Ok(update(truth, at(revision)))));
            }
        }
        for event in during(&mut supervisor, millis(rng.u64(0..20_000))).await {
            if !matches!(event, Event::Status(_)) {
                last = Some(show(&event));
            }
        }
        if let Some(last) = &last {
            let said = history.iter().any(|(state, _)| named(state) == *last);
            assert!(said, "seed {seed}: {last} was never said");
        }
    }
    // The registry is well from here on, but the watch stays silent.
    script.fetch(Fetch::Give(Ok(update(truth, at(revision)))));
    for event in during(&mut supervisor, secs(90)).await {
        if !matches!(event, Event::Status(_)) {
            last = Some(show(&event));
        }
    }
    assert_eq!(
        last,
        Some(named(truth)),
        "seed {seed}, versioned {versioned}"
    );
    assert!(!supervisor.status().is_stale(), "seed {seed}");
    assert!(supervisor.status().held.is_none(), "seed {seed}");
    truth
}

#[tokio::test(start_paused = true)]
async fn the_truth_is_reported_in_the_end() {
    for seed in 0..300 {
        run(seed, false, WatchConfig::default(), None).await;
        run(seed, true, WatchConfig::default(), None).await;
    }
}

/// Each run starts with what the one before left on disk, while its registry is late or away.
#[cfg(feature = "disk")]
#[tokio::test(start_paused = true)]
async fn the_truth_is_reported_in_the_end_whatever_was_left_on_disk() {
    let dir = tempfile::TempDir::new().expect("a folder");
    let snapshots = ringfence_discovery::DiskSnapshots::new(dir.path());
    let mut left = "";
    for seed in 1_000..1_200 {
        let config = WatchConfig::default().with_disk_snapshots(snapshots.clone());
        left = run(seed, seed % 2 == 0, config, Some(left)).await;
    }
}

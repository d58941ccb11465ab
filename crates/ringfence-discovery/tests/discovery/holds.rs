//! Empty, unknown and shrunken states: held, confirmed, released.

use ringfence_discovery::{Event, HoldReason, WatchConfig};
use tokio::time::Instant;

use crate::script::{Fetch, Script, Step, changes, gone, list, millis, next_change, secs, show};

fn config() -> WatchConfig {
    WatchConfig::default().without_resync().without_staleness()
}

async fn with_three(script: &Script, config: WatchConfig) -> ringfence_discovery::Supervisor {
    let mut supervisor = script.supervise(config);
    assert_eq!(next_change(&mut supervisor).await, "abc");
    supervisor
}

fn three() -> Script {
    Script::new([vec![Step::Yield(Ok(list("abc")))]])
}

/// A server node restarts and pushes an empty list for some seconds (B10).
#[tokio::test(start_paused = true)]
async fn an_empty_push_that_is_taken_back_is_never_seen() {
    let script = three();
    script.fetch(Fetch::Give(Ok(list(""))));
    let mut supervisor = with_three(&script, config()).await;
    script.push(Ok(list("")));
    assert!(changes(&mut supervisor, secs(8)).await.is_empty());
    assert!(supervisor.status().held.is_some());
    script.push(Ok(list("abc")));
    assert!(changes(&mut supervisor, secs(60)).await.is_empty());
    let counters = supervisor.status().counters;
    assert_eq!(
        (counters.held, counters.released, counters.confirmed),
        (1, 1, 0)
    );
    assert!(supervisor.status().held.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_read_that_shows_the_instances_ends_the_hold_at_once() {
    let script = three();
    script.fetch(Fetch::Give(Ok(list("abc"))));
    let mut supervisor = with_three(&script, config()).await;
    script.push(Ok(list("")));
    assert!(changes(&mut supervisor, millis(10)).await.is_empty());
    assert_eq!(supervisor.status().counters.held, 1);
    assert_eq!(supervisor.status().counters.released, 1);
    assert!(changes(&mut supervisor, secs(60)).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_empty_service_is_believed_after_the_hold() {
    for (state, shown, reason) in [
        (list(""), "", HoldReason::Empty),
        (gone(), "no such service", HoldReason::NoSuchService),
        (list("a"), "a", HoldReason::MassLoss { had: 3, has: 1 }),
    ] {
        let script = three();
        script.fetch(Fetch::Give(Ok(state.clone())));
        let mut supervisor = with_three(&script, config()).await;
        let start = Instant::now();
        script.push(Ok(state));
        let Event::Status(status) = supervisor.next().await else {
            panic!("a status")
        };
        let held = status.held.expect("held");
        assert_eq!(
            (held.reason, held.until),
            (reason, (start + secs(10)).into_std())
        );
        let event = supervisor.next().await;
        assert_eq!(show(&event), shown);
        assert_eq!(start.elapsed(), secs(10));
        if let Event::Snapshot(accepted) = event {
            assert_eq!(accepted.confirmed_loss, Some(reason));
        }
        assert_eq!(script.fetches(), 2, "at once and at the end");
        assert_eq!(supervisor.status().counters.confirmed, 1);
    }
}

/// The registry's death never empties a pool, however long it lasts (B09).
#[tokio::test(start_paused = true)]
async fn a_hold_lasts_while_no_read_succeeds() {
    let script = three();
    let mut supervisor = with_three(&script, config()).await;
    script.push(Ok(list("")));
    assert!(changes(&mut supervisor, secs(600)).await.is_empty());
    let reads = script.fetches();
    assert!(
        (300..600).contains(&reads),
        "{reads} reads: retried, not hammered"
    );
    script.fetch(Fetch::Give(Ok(list(""))));
    assert_eq!(next_change(&mut supervisor).await, "");
}

#[tokio::test(start_paused = true)]
async fn a_fresh_push_after_the_hold_confirms_too() {
    let script = three();
    let mut supervisor = with_three(&script, config()).await;
    script.push(Ok(list("")));
    assert!(changes(&mut supervisor, secs(11)).await.is_empty());
    script.push(Ok(list("")));
    assert_eq!(next_change(&mut supervisor).await, "");
}

/// Errors never change the list, a proper empty one does in the end (B09).
#[tokio::test(start_paused = true)]
async fn errors_then_empty_then_another_instance() {
    let script = three();
    let mut supervisor = with_three(&script, config()).await;
    for error in ["500 no leader", "no known leader", "truncated JSON"] {
        script.push(Err(error));
        assert!(changes(&mut supervisor, secs(100)).await.is_empty());
    }
    assert_eq!(supervisor.status().counters.watch_errors, 3);
    script.fetch(Fetch::Give(Ok(list(""))));
    script.push(Ok(list("")));
    assert_eq!(next_change(&mut supervisor).await, "");
    script.push(Ok(list("c")));
    assert_eq!(next_change(&mut supervisor).await, "c");

    let script = three();
    let mut supervisor = with_three(&script, config().without_hold()).await;
    let start = Instant::now();
    script.push(Ok(list("")));
    assert_eq!(next_change(&mut supervisor).await, "");
    assert_eq!(Instant::now(), start, "protection off: at once");
}

#[tokio::test(start_paused = true)]
async fn a_partial_recovery_is_used_at_once_when_the_loss_is_small_enough() {
    let script = three();
    script.fetch(Fetch::Give(Ok(list(""))));
    let mut supervisor = with_three(&script, config()).await;
    script.push(Ok(list("")));
    assert!(changes(&mut supervisor, secs(3)).await.is_empty());
    script.push(Ok(list("a")));
    assert!(changes(&mut supervisor, secs(1)).await.is_empty(), "1 of 3");
    script.push(Ok(list("ab")));
    assert_eq!(changes(&mut supervisor, millis(1)).await, ["ab"]);
    assert!(changes(&mut supervisor, secs(60)).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_read_that_finds_nothing_is_held_like_a_push() {
    let script = three();
    script.fetch(Fetch::Give(Ok(gone())));
    let mut supervisor = with_three(&script, WatchConfig::default()).await;
    let start = Instant::now();
    assert_eq!(next_change(&mut supervisor).await, "no such service");
    assert!(start.elapsed() > secs(20), "{:?}", start.elapsed());
    assert_eq!(supervisor.status().counters.confirmed, 1);
}

/// A read that was sent before the empty push says nothing about it.
#[tokio::test(start_paused = true)]
async fn a_read_under_way_when_the_hold_begins_does_not_end_it() {
    let script = three();
    script.fetch(Fetch::After(secs(4), Ok(list("abc"))));
    let config = WatchConfig::default()
        .without_staleness()
        .with_resync(secs(10), 0)
        .expect("legal");
    let mut supervisor = with_three(&script, config).await;
    assert!(changes(&mut supervisor, secs(12)).await.is_empty());
    assert_eq!(script.fetches(), 1);
    script.fetch(Fetch::Give(Ok(list(""))));
    script.push(Ok(list("")));
    assert!(changes(&mut supervisor, millis(1)).await.is_empty());
    assert_eq!(script.fetches(), 2, "a fresh read does not wait for it");
    assert!(changes(&mut supervisor, secs(9)).await.is_empty());
    assert_eq!(next_change(&mut supervisor).await, "");
}

#[tokio::test(start_paused = true)]
async fn a_flapping_source_causes_no_storm_of_reads() {
    let script = three();
    script.fetch(Fetch::Give(Ok(list("abc"))));
    let mut supervisor = with_three(&script, config()).await;
    for _ in 0..1_000 {
        script.push(Ok(list("")));
        assert!(changes(&mut supervisor, millis(10)).await.is_empty());
    }
    let reads = script.fetches();
    assert!(reads <= 12, "{reads} reads in ten seconds");
}

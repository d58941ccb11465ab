//! Revisions: old data is not believed, a registry that was reset is.

use ringfence_discovery::{Supervisor, Update, WatchConfig};

use crate::script::{Fetch, Script, Step, changes, list, millis, next_change, secs};

fn at(ids: &str, revision: u64) -> Update {
    list(ids).with_revision(revision)
}

fn quiet() -> WatchConfig {
    WatchConfig::default().without_resync().without_staleness()
}

async fn started(script: &Script, first: &str) -> Supervisor {
    let mut supervisor = script.supervise(quiet());
    assert_eq!(next_change(&mut supervisor).await, first);
    supervisor
}

/// Stale reads: two servers answer in turn, one lags (B07).
#[tokio::test(start_paused = true)]
async fn an_older_state_is_not_applied() {
    let script = Script::new([vec![Step::Yield(Ok(at("ab", 120)))]]);
    script.fetch(Fetch::Give(Ok(at("ab", 121))));
    let mut supervisor = started(&script, "ab").await;
    script.push(Ok(at("a", 110)));
    assert!(changes(&mut supervisor, secs(1)).await.is_empty());
    script.push(Ok(at("ab", 121)));
    assert!(changes(&mut supervisor, secs(1)).await.is_empty());
    assert_eq!(supervisor.status().counters.outdated, 1);
    assert_eq!(script.fetches(), 1, "read once to settle it");
}

/// Reset: the server restarted and counts from low numbers (B07).
#[tokio::test(start_paused = true)]
async fn a_lower_revision_that_a_read_confirms_is_a_reset() {
    let script = Script::new([vec![Step::Yield(Ok(at("ab", 100)))]]);
    script.fetch(Fetch::Give(Ok(at("c", 40))));
    let mut supervisor = started(&script, "ab").await;
    script.push(Ok(at("c", 40)));
    assert_eq!(changes(&mut supervisor, millis(10)).await, ["c"]);
    script.push(Ok(at("cd", 41)));
    assert_eq!(changes(&mut supervisor, millis(10)).await, ["cd"]);
}

#[tokio::test(start_paused = true)]
async fn the_read_is_repeated_until_it_settles_the_contradiction() {
    let script = Script::new([vec![Step::Yield(Ok(at("ab", 100)))]]);
    let mut supervisor = started(&script, "ab").await;
    script.push(Ok(at("c", 40)));
    assert!(changes(&mut supervisor, secs(20)).await.is_empty());
    script.fetch(Fetch::Give(Ok(at("c", 40))));
    assert_eq!(changes(&mut supervisor, secs(30)).await, ["c"]);
}

#[tokio::test(start_paused = true)]
async fn a_watch_opened_anew_may_start_lower() {
    let script = Script::new([
        vec![
            Step::Yield(Ok(at("ab", 100))),
            Step::Wait(secs(5)),
            Step::End,
        ],
        vec![Step::Yield(Ok(at("c", 3))), Step::Yield(Ok(at("cd", 4)))],
    ]);
    let mut supervisor = started(&script, "ab").await;
    assert_eq!(changes(&mut supervisor, secs(6)).await, ["cd"]);
    assert_eq!(script.fetches(), 0);
}

/// A push arrives between the sending of a read and its answer (B29).
#[tokio::test(start_paused = true)]
async fn a_read_overtaken_by_a_push_does_not_undo_it() {
    for revisions in [[Some(10), Some(11), Some(10)], [None; 3]] {
        let update = |ids, revision: Option<u64>| match revision {
            Some(revision) => at(ids, revision),
            None => list(ids),
        };
        let script = Script::new([vec![Step::Yield(Ok(update("ab", revisions[0])))]]);
        script.fetch(Fetch::After(secs(2), Ok(update("ab", revisions[2]))));
        let config = WatchConfig::default()
            .without_staleness()
            .with_resync(secs(10), 0)
            .expect("legal");
        let mut supervisor = script.supervise(config);
        assert_eq!(next_change(&mut supervisor).await, "ab");
        assert!(changes(&mut supervisor, secs(11)).await.is_empty());
        assert_eq!(script.fetches(), 1);
        script.push(Ok(update("abc", revisions[1])));
        assert_eq!(changes(&mut supervisor, secs(5)).await, ["abc"]);
        assert_eq!(supervisor.status().counters.outdated, 1);
    }
}

/// The watch answers after a read did, with older data (B29).
#[tokio::test(start_paused = true)]
async fn a_late_first_answer_of_the_watch_does_not_undo_a_read() {
    let script = Script::new([vec![Step::Wait(secs(3)), Step::Yield(Ok(list("ab")))]]);
    script.fetch(Fetch::Give(Ok(list("b"))));
    let mut supervisor = started(&script, "b").await;
    assert!(changes(&mut supervisor, secs(10)).await.is_empty());
    assert_eq!(supervisor.status().counters.outdated, 1);
}

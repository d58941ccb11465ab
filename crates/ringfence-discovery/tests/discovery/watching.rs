//! Backoff, resync, staleness, and what happens when the owner goes away.

use ringfence_discovery::{Event, WatchConfig};
use tokio::time::{Instant, timeout};

use crate::script::{
    Fetch, Script, Step, changes, during, gone, list, millis, next_change, secs, show,
};

fn quiet() -> WatchConfig {
    WatchConfig::default().without_resync().without_staleness()
}

#[tokio::test(start_paused = true)]
async fn the_first_state_is_believed_at_once_even_when_empty() {
    for (first, shown) in [
        (list("ab"), "ab"),
        (list(""), ""),
        (gone(), "no such service"),
    ] {
        let script = Script::new([vec![Step::Yield(Ok(first))]]);
        let mut supervisor = script.supervise(WatchConfig::default());
        let start = Instant::now();
        assert_eq!(show(&supervisor.next().await), shown);
        assert_eq!(Instant::now(), start);
    }
}

#[tokio::test(start_paused = true)]
async fn equal_states_are_no_events_but_every_field_counts() {
    let script = Script::new([vec![Step::Yield(Ok(list("ab")))]]);
    let mut supervisor = script.supervise(quiet());
    assert_eq!(next_change(&mut supervisor).await, "ab");
    script.push(Ok(list("ba")));
    assert!(changes(&mut supervisor, secs(1)).await.is_empty());
    assert_eq!(supervisor.status().counters.unchanged, 1);
    let heavier = [
        crate::script::instance("a")
            .to_builder()
            .weight(3)
            .build()
            .expect("legal"),
        crate::script::instance("b"),
    ];
    script.push(Ok(ringfence_discovery::Update::instances(
        heavier,
        ringfence_discovery::Provenance::live("script"),
    )));
    assert_eq!(next_change(&mut supervisor).await, "ab");
}

/// What was reported first is the base of what comes later (B29).
#[tokio::test(start_paused = true)]
async fn the_first_push_that_lacks_an_instance_removes_it() {
    let script = Script::new([vec![
        Step::Yield(Ok(list("ab"))),
        Step::Wait(secs(1)),
        Step::Yield(Ok(list("a"))),
    ]]);
    let mut supervisor = script.supervise(quiet());
    assert_eq!(next_change(&mut supervisor).await, "ab");
    assert_eq!(next_change(&mut supervisor).await, "a");
}

/// Nothing queues and nobody is held up (B02).
#[tokio::test(start_paused = true)]
async fn of_many_rapid_updates_only_the_last_matters() {
    let script = Script::new([vec![Step::Yield(Ok(list("a")))]]);
    let mut supervisor = script.supervise(quiet());
    assert_eq!(next_change(&mut supervisor).await, "a");
    for n in 0..5_000u32 {
        let id = char::from_u32(0x4e00 + n).expect("a letter").to_string();
        script.push(Ok(list(&id)));
    }
    let last = char::from_u32(0x4e00 + 4_999)
        .expect("a letter")
        .to_string();
    let seen = changes(&mut supervisor, secs(1)).await;
    assert_eq!(seen.last(), Some(&last));
    assert!(seen.len() < 50, "{} events", seen.len());
    let counters = supervisor.status().counters;
    assert_eq!(counters.superseded + counters.accepted, 5_001);
}

/// A stream that ends is not polled again, and the waits grow (B40).
#[tokio::test(start_paused = true)]
async fn a_watch_that_always_ends_is_opened_with_growing_jittered_waits() {
    for steps in [
        vec![Step::End],
        vec![Step::Yield(Err("refused")), Step::End],
        vec![Step::Yield(Ok(list("a"))), Step::End],
        vec![Step::Yield(Err("one")), Step::Yield(Err("two"))],
    ] {
        let script = Script::default().otherwise(steps);
        let config = quiet().with_backoff(millis(100), secs(30)).expect("legal");
        let mut supervisor = script.supervise(config);
        during(&mut supervisor, secs(600)).await;
        let opened = script.opened();
        // 100 ms doubling to 30 s, each drawn from zero up: about 48 in ten minutes.
        assert!((20..100).contains(&opened), "{opened} watches");
        assert_eq!(script.alive(), 0);
        assert!(supervisor.status().counters.watch_restarts >= opened as u64 - 1);
    }
}

/// However long the registry was away, its first list is five seconds late at most, of which the wait may take three.
#[tokio::test(start_paused = true)]
async fn a_registry_that_comes_back_after_hours_is_watched_again_within_three_seconds() {
    for extra in 0..50 {
        let outage = secs(3_600) + extra * millis(700);
        let start = Instant::now();
        let away = vec![Step::Yield(Err("refused")), Step::End];
        let script = Script::default().otherwise(away);
        let mut supervisor = script.supervise(quiet());
        during(&mut supervisor, outage).await;
        let script = script.otherwise(vec![Step::Yield(Ok(list("a")))]);
        assert_eq!(next_change(&mut supervisor).await, "a");
        let late = start.elapsed() - outage;
        assert!(late <= secs(3), "{late:?} after {outage:?}");
        assert_eq!(script.alive(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_worked_for_a_while_starts_the_backoff_anew() {
    let works = vec![Step::Yield(Ok(list("a"))), Step::Wait(secs(5)), Step::End];
    let mut watches = vec![vec![Step::End]; 12];
    watches.push(works.clone());
    let script = Script::new(watches).otherwise(works);
    let mut supervisor = script.supervise(quiet());
    assert_eq!(next_change(&mut supervisor).await, "a");
    let opened = script.opened();
    during(&mut supervisor, secs(51)).await;
    assert_eq!(
        script.opened() - opened,
        10,
        "5 s of work, at most 0.1 s of waiting"
    );
}

#[tokio::test(start_paused = true)]
async fn an_error_on_a_watch_that_goes_on_keeps_it_open_and_is_told_once() {
    let script = Script::new([vec![Step::Yield(Ok(list("a")))]]);
    let mut supervisor = script.supervise(quiet());
    assert_eq!(next_change(&mut supervisor).await, "a");
    let mut told = 0;
    for _ in 0..3 {
        script.push(Err("busy"));
        told += during(&mut supervisor, secs(1)).await.len();
    }
    assert_eq!(told, 1);
    assert_eq!(script.opened(), 1);
    assert_eq!(supervisor.status().counters.watch_errors, 3);
    script.push(Err("busy"));
    script.push(Ok(list("b")));
    let events = during(&mut supervisor, secs(1)).await;
    assert_eq!(events.iter().map(show).collect::<Vec<_>>(), ["b", "status"]);
    assert!(supervisor.status().watch_error.is_none());
}

/// The watch is open and silent, or its creation is never answered (B24).
#[tokio::test(start_paused = true)]
async fn a_silent_watch_is_helped_by_reads() {
    let script = Script::default();
    script.fetch(Fetch::Give(Ok(list("ab"))));
    let mut supervisor = script.supervise(WatchConfig::default());
    let start = Instant::now();
    assert_eq!(next_change(&mut supervisor).await, "ab");
    assert!(start.elapsed() <= secs(1), "{:?}", start.elapsed());
    script.fetch(Fetch::Give(Ok(list("bc"))));
    assert_eq!(next_change(&mut supervisor).await, "bc");
    assert!(start.elapsed() < secs(30));
    assert_eq!(script.opened(), 1);
    // The second change that it did not tell: it is given up.
    during(&mut supervisor, secs(1)).await;
    assert_eq!(script.opened(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_full_read_is_made_every_five_minutes_and_a_failed_one_changes_nothing() {
    let script = Script::new([vec![Step::Yield(Ok(list("ab")))]]);
    let mut supervisor = script.supervise(WatchConfig::default().without_staleness());
    assert_eq!(next_change(&mut supervisor).await, "ab");
    let start = Instant::now();
    assert!(during(&mut supervisor, secs(3_600)).await.is_empty());
    assert_eq!(
        supervisor.status().counters.fetch_errors,
        script.fetches() as u64
    );
    let mut last = start;
    for at in script.fetched_at() {
        let gap = (at - last).as_secs_f64();
        assert!((239.0..361.0).contains(&gap), "{gap} s");
        last = at;
    }
    script.fetch(Fetch::Give(Ok(list("abc"))));
    assert_eq!(next_change(&mut supervisor).await, "abc");
}

#[tokio::test(start_paused = true)]
async fn a_read_that_hangs_is_given_up() {
    let script = Script::new([vec![Step::Yield(Ok(list("ab")))]]);
    script.fetch(Fetch::Hang);
    let mut supervisor = script.supervise(WatchConfig::default().without_staleness());
    during(&mut supervisor, secs(700)).await;
    assert!(supervisor.status().counters.fetch_errors >= 1);
    assert_eq!(script.alive(), 1, "only the watch");
    let error = supervisor.status().fetch_error.clone().expect("kept");
    assert_eq!(error.to_string(), "script: no answer within 5s");
}

#[tokio::test(start_paused = true)]
async fn data_becomes_stale_after_thirty_seconds_and_fresh_on_contact() {
    let script = Script::new([vec![Step::Yield(Ok(list("ab")))]]);
    let mut supervisor = script.supervise(WatchConfig::default());
    assert_eq!(next_change(&mut supervisor).await, "ab");
    let start = Instant::now();
    let Event::Status(status) = supervisor.next().await else {
        panic!("a status")
    };
    let start = start.into_std();
    assert_eq!(status.stale_since, Some(start + secs(30)));
    assert_eq!(status.last_contact, Some(start));
    assert!(
        script.fetches() >= 1,
        "it was asked before it was called stale"
    );
    // An equal update is contact.
    script.push(Ok(list("ab")));
    let events = during(&mut supervisor, secs(1)).await;
    assert_eq!(events.iter().map(show).collect::<Vec<_>>(), ["status"]);
    assert!(!supervisor.status().is_stale());
    assert_eq!(supervisor.status().counters.stale, 1);
}

#[tokio::test(start_paused = true)]
async fn a_quiet_but_healthy_registry_never_becomes_stale() {
    let script = Script::new([vec![Step::Yield(Ok(list("ab")))]]);
    script.fetch(Fetch::Give(Ok(list("ab"))));
    let mut supervisor = script.supervise(WatchConfig::default());
    assert_eq!(next_change(&mut supervisor).await, "ab");
    assert!(during(&mut supervisor, secs(3_600)).await.is_empty());
    let reads = script.fetches();
    assert!((150..250).contains(&reads), "{reads} reads in an hour");
}

#[tokio::test(start_paused = true)]
async fn without_any_contact_it_is_stale_from_thirty_seconds_on_and_goes_on_trying() {
    let script = Script::default().otherwise(vec![Step::Yield(Err("refused")), Step::End]);
    let mut supervisor = script.supervise(WatchConfig::default());
    during(&mut supervisor, secs(29)).await;
    assert!(!supervisor.status().is_stale());
    during(&mut supervisor, secs(600)).await;
    assert!(supervisor.status().is_stale());
    let reads = script.fetches();
    // Every one and a half seconds on average.
    assert!((300..600).contains(&reads), "{reads} reads");
    script.fetch(Fetch::Give(Ok(list("a"))));
    assert_eq!(next_change(&mut supervisor).await, "a");
}

/// Dropping it in the middle of anything ends everything at once (B40).
#[tokio::test(start_paused = true)]
async fn a_dropped_supervisor_leaves_nothing_behind() {
    let script = Script::new([vec![Step::Yield(Ok(list("ab")))]]);
    script.fetch(Fetch::After(secs(300), Ok(list("ab"))));
    let config = WatchConfig::default()
        .with_fetch_timeout(secs(600))
        .expect("legal");
    let mut supervisor = script.supervise(config);
    during(&mut supervisor, secs(25)).await;
    assert_eq!(script.alive(), 2, "a watch and a read");
    drop(supervisor);
    assert_eq!(script.alive(), 0);

    let script = Script::default().otherwise(vec![Step::End]);
    let mut supervisor = script.supervise(quiet());
    during(&mut supervisor, secs(120)).await;
    let opened = script.opened();
    drop(supervisor);
    tokio::time::sleep(secs(600)).await;
    assert_eq!((script.opened(), script.alive()), (opened, 0));
}

/// Nothing wakes it but what is due (B40).
#[tokio::test(start_paused = true)]
async fn it_never_spins() {
    let ends = Script::default().otherwise(vec![Step::End]);
    let fails = Script::default().otherwise(vec![Step::Yield(Err("refused"))]);
    let quiet = Script::new([vec![Step::Yield(Ok(list("ab")))]]);
    quiet.fetch(Fetch::Give(Ok(list("ab"))));
    for script in [ends, fails, quiet] {
        let mut supervisor = script.supervise(WatchConfig::default());
        let mut polls = 0;
        let end = Instant::now() + secs(600);
        let counted = std::future::poll_fn(|cx| {
            polls += 1;
            while supervisor.poll_next_event(cx).is_ready() {}
            std::task::Poll::<()>::Pending
        });
        assert!(tokio::time::timeout_at(end, counted).await.is_err());
        // A watch and a read, every one and a half seconds on average.
        assert!(polls < 1_200, "{polls} polls in ten minutes");
    }
}

#[tokio::test(start_paused = true)]
async fn a_source_that_is_always_ready_does_not_hog_the_task() {
    let same = vec![Step::Yield(Ok(list("a"))); 200_000];
    let script = Script::new([same]);
    let mut supervisor = script.supervise(quiet());
    assert_eq!(next_change(&mut supervisor).await, "a");
    let once = futures_util::FutureExt::now_or_never(supervisor.next());
    assert!(once.is_none(), "it gives way");
    assert!(supervisor.status().counters.superseded < 100_000);
    during(&mut supervisor, millis(1)).await;
    let counters = supervisor.status().counters;
    let all = counters.superseded + counters.unchanged + counters.accepted;
    assert_eq!(all, 200_000, "and loses nothing");
}

#[test]
fn a_supervisor_can_move_between_threads() {
    fn is_send<T: Send>(_: &T) {}
    is_send(&Script::default().supervise(WatchConfig::default()));
}

#[test]
fn it_can_be_made_and_dropped_outside_a_runtime() {
    drop(Script::default().supervise(WatchConfig::default()));
}

#[tokio::test(start_paused = true)]
async fn cancelling_next_loses_nothing() {
    let script = Script::new([vec![
        Step::Yield(Ok(list("ab"))),
        Step::Wait(secs(3)),
        Step::Yield(Ok(list("abc"))),
    ]]);
    let mut supervisor = script.supervise(quiet());
    let mut seen = Vec::new();
    for _ in 0..100 {
        if let Ok(event) = timeout(millis(100), supervisor.next()).await {
            seen.push(show(&event));
        }
    }
    assert_eq!(seen, ["ab", "abc"]);
    assert_eq!(script.opened(), 1);
}

#[tokio::test(start_paused = true)]
async fn rejected_records_are_shown_and_counted_once() {
    let bad = || vec![ringfence_discovery::RejectedRecord::new("bad address").with_id("x")];
    let script = Script::new([vec![Step::Yield(Ok(list("ab").with_rejected(bad())))]]);
    script.fetch(Fetch::Give(Ok(list("ab").with_rejected(bad()))));
    let mut supervisor = script.supervise(WatchConfig::default());
    during(&mut supervisor, secs(600)).await;
    assert_eq!(supervisor.status().counters.rejected_records, 1);
    assert_eq!(
        supervisor.status().rejected[0].to_string(),
        "instance \"x\": bad address"
    );
}

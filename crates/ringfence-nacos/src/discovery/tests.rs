mod recovery;

use std::time::Duration;

use futures_util::StreamExt as _;
use ringfence_discovery::{Event, Supervisor, WatchConfig};
use tokio::time::{Instant, timeout};

use super::*;
use crate::scripted::{Answer, Scripted, record, records};

fn source(naming: &Arc<Scripted>) -> NacosDiscovery {
    source_with(&Hub::new(naming.clone()), &[])
}

fn source_with(hub: &Arc<Hub>, clusters: &[&str]) -> NacosDiscovery {
    let config = NacosConfig::new(["127.0.0.1:8848"])
        .and_then(|config| config.with_clusters(clusters.iter().copied()))
        .expect("legal");
    NacosDiscovery::over(hub.clone(), config)
}

fn supervisor(naming: &Arc<Scripted>) -> Supervisor {
    let config = WatchConfig::default().with_seed(1);
    Supervisor::new(Arc::new(source(naming)), ServiceKey::new("order"), config)
}

/// Instance counts of the snapshots that are reported within a time, one after the other.
async fn counts(supervisor: &mut Supervisor, limit: Duration) -> Vec<usize> {
    let end = Instant::now() + limit;
    let mut counts = Vec::new();
    while let Ok(event) = tokio::time::timeout_at(end, supervisor.next()).await {
        if let Event::Snapshot(accepted) = event {
            counts.push(accepted.snapshot.len());
        }
    }
    counts
}

fn announced(naming: &Scripted, list: Answer) {
    naming.stand(list);
    naming.announce(1);
}

#[tokio::test(start_paused = true)]
async fn b10_a_list_that_is_empty_for_eight_seconds_changes_nothing() {
    let naming = Scripted::new(Answer::List(records(1..=3)));
    let mut supervisor = supervisor(&naming);
    assert_eq!(counts(&mut supervisor, Duration::from_secs(2)).await, [3]);
    announced(&naming, Answer::List(Vec::new()));
    assert!(
        counts(&mut supervisor, Duration::from_secs(8))
            .await
            .is_empty()
    );
    announced(&naming, Answer::List(records(1..=3)));
    assert!(
        counts(&mut supervisor, Duration::from_secs(60))
            .await
            .is_empty()
    );
}

#[tokio::test(start_paused = true)]
async fn b10_a_list_that_stays_empty_is_believed_in_the_end() {
    let naming = Scripted::new(Answer::List(records(1..=3)));
    let mut supervisor = supervisor(&naming);
    assert_eq!(counts(&mut supervisor, Duration::from_secs(2)).await, [3]);
    announced(&naming, Answer::List(Vec::new()));
    assert_eq!(counts(&mut supervisor, Duration::from_secs(30)).await, [0]);
}

#[tokio::test(start_paused = true)]
async fn b10_an_empty_first_list_is_a_pool_and_not_a_hang() {
    let naming = Scripted::new(Answer::List(Vec::new()));
    let mut supervisor = supervisor(&naming);
    assert_eq!(counts(&mut supervisor, Duration::from_secs(1)).await, [0]);
}

#[tokio::test(start_paused = true)]
async fn b10_shrinking_and_turning_unhealthy_are_no_empty_lists() {
    let naming = Scripted::new(Answer::List(records(1..=3)));
    let mut supervisor = supervisor(&naming);
    assert_eq!(counts(&mut supervisor, Duration::from_secs(2)).await, [3]);
    announced(&naming, Answer::List(records(1..=2)));
    assert_eq!(counts(&mut supervisor, Duration::from_secs(2)).await, [2]);
    let mut sick = records(1..=2);
    for record in &mut sick {
        record.healthy = false;
    }
    announced(&naming, Answer::List(sick));
    assert_eq!(counts(&mut supervisor, Duration::from_secs(2)).await, [2]);
}

#[tokio::test(start_paused = true)]
async fn b10_a_loss_of_most_is_applied_after_the_hold_and_needs_no_restart() {
    let naming = Scripted::new(Answer::List(records(1..=3)));
    let mut supervisor = supervisor(&naming);
    assert_eq!(counts(&mut supervisor, Duration::from_secs(2)).await, [3]);
    announced(&naming, Answer::List(records([1])));
    assert!(
        counts(&mut supervisor, Duration::from_secs(8))
            .await
            .is_empty()
    );
    assert_eq!(counts(&mut supervisor, Duration::from_secs(8)).await, [1]);
}

/// What an operator looks at: who was left out, why, and that the others are served.
#[tokio::test(start_paused = true)]
async fn what_was_left_out_is_in_the_status_and_counted_once() {
    let mut listed = records([1, 2, 3, 70_000]);
    listed[1].weight = f64::NAN;
    listed[2].ip = "not an ip".into();
    let huge = crate::naming::Record {
        metadata: vec![("version".into(), "x".repeat(1 << 20))],
        ..record(5)
    };
    listed.push(huge);
    let naming = Scripted::new(Answer::List(listed));
    let mut supervisor = supervisor(&naming);
    assert_eq!(counts(&mut supervisor, Duration::from_secs(60)).await, [1]);
    let status = supervisor.status();
    assert_eq!(
        status.counters.rejected_records, 4,
        "{:#?}",
        status.rejected
    );
    let told: Vec<String> = status.rejected.iter().map(ToString::to_string).collect();
    for (id, reason) in [
        ("10.0.0.1:2\"", "weight"),
        ("not an ip:3\"", "address"),
        ("10.0.0.1:70000\"", "70000"),
        ("10.0.0.1:5\"", "version"),
    ] {
        assert!(
            told.iter()
                .any(|line| line.contains(id) && line.contains(reason)),
            "{id} {reason}: {told:#?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn b38_no_failure_becomes_a_list() {
    for failure in [
        Answer::Fail(ErrorKind::Unavailable),
        Answer::Fail(ErrorKind::Unauthorized),
        Answer::Fail(ErrorKind::Malformed),
        Answer::Hang,
    ] {
        let naming = Scripted::new(Answer::List(records(1..=3)));
        let mut supervisor = supervisor(&naming);
        assert_eq!(counts(&mut supervisor, Duration::from_secs(2)).await, [3]);
        announced(&naming, failure.clone());
        let during = counts(&mut supervisor, Duration::from_secs(300)).await;
        assert!(during.is_empty(), "{failure:?}: {during:?}");
        // Within a pause after a refusal, however long the outage was.
        naming.stand(Answer::List(records(1..=4)));
        let after = counts(&mut supervisor, Duration::from_secs(10)).await;
        assert_eq!(after, [4], "{failure:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn b31_clusters_on_one_service_share_a_subscription_and_do_not_deafen_each_other() {
    let naming = Scripted::new(Answer::List(Vec::new()));
    let hub = Hub::new(naming.clone());
    let mut listed = records(1..=3);
    listed[0].cluster = "c1".into();
    listed[1].cluster = "c2".into();
    naming.stand(Answer::List(listed.clone()));
    let service = ServiceKey::new("order");
    let count = |update: Option<Result<Update, DiscoveryError>>| {
        let update = update.expect("it goes on").expect("a list");
        update.state.instance_count()
    };
    let mut one = source_with(&hub, &["c1"]).watch(&service);
    let mut two = source_with(&hub, &["c2", "DEFAULT"]).watch(&service);
    let mut all = source_with(&hub, &[]).watch(&service);
    assert_eq!(count(one.next().await), 1);
    assert_eq!(count(two.next().await), 2);
    assert_eq!(count(all.next().await), 3);
    assert_eq!(naming.counts().subscribes, 1);
    drop((one, all));
    listed.push(crate::naming::Record {
        cluster: "c2".into(),
        ..record(4)
    });
    announced(&naming, Answer::List(listed));
    let heard = timeout(Duration::from_secs(1), async {
        while count(two.next().await) != 3 {}
    });
    heard.await.expect("still subscribed");
    assert_eq!(naming.counts().unsubscribes, 0);
}

#[tokio::test(start_paused = true)]
async fn impossible_names_are_errors_and_reach_no_server() {
    let naming = Scripted::new(Answer::List(records([1])));
    let source = source(&naming);
    for key in [
        ServiceKey::new(""),
        ServiceKey::new("a@@b"),
        ServiceKey::new("../../x"),
        ServiceKey::new("a").with_namespace("/abs"),
    ] {
        let error = source.fetch(&key).await.expect_err("illegal");
        assert_eq!(error.kind(), ErrorKind::Config, "{key}");
        let mut stream = source.watch(&key);
        assert!(stream.next().await.expect("an item").is_err(), "{key}");
        assert!(stream.next().await.is_none(), "{key}");
    }
    assert_eq!(naming.counts().lists, 0);
}

#[tokio::test(start_paused = true)]
async fn nothing_happens_before_the_first_poll() {
    let naming = Scripted::new(Answer::List(records([1])));
    let source = source(&naming);
    let service = ServiceKey::new("order");
    let (watch, fetch) = (source.watch(&service), source.fetch(&service));
    tokio::task::yield_now().await;
    assert_eq!(naming.counts(), crate::scripted::Counts::default());
    drop((watch, fetch));
}

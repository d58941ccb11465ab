//! Lost instances are asked themselves while their loss is held.

use std::sync::Arc;

use ringfence_core::Instance;
use ringfence_discovery::{Provenance, Supervisor, Update, WatchConfig};
use ringfence_testkit::{ProbeVerdict, ScriptedProbe, Warnings};
use tokio::time::Instant;

use crate::script::{Fetch, Script, Step, changes, gone, list, millis, next_change, secs};

fn config() -> WatchConfig {
    WatchConfig::default().without_resync().without_staleness()
}

/// Watches `a`, `b` and `c`; from then on the registry says `then`.
async fn lost(then: Update, probe: &ScriptedProbe) -> (Script, Supervisor, Instant) {
    let script = Script::new([vec![Step::Yield(Ok(list("abc")))]]);
    let probe = Arc::new(probe.clone());
    let mut supervisor = script.supervise(config()).with_loss_probe(probe);
    assert_eq!(next_change(&mut supervisor).await, "abc");
    script.fetch(Fetch::Give(Ok(then.clone())));
    script.push(Ok(then));
    (script, supervisor, Instant::now())
}

/// A registry that lost its data says for minutes that a service is empty, while all its instances serve (B10).
#[tokio::test(start_paused = true)]
async fn instances_that_answer_are_kept_up_to_ten_times_the_hold() {
    for then in [list(""), gone(), list("x")] {
        let warnings = Warnings::capture();
        let probe = ScriptedProbe::new();
        let (_script, mut supervisor, start) = lost(then, &probe).await;
        assert!(changes(&mut supervisor, secs(99)).await.is_empty());
        let status = supervisor.status();
        let held = status.held.expect("held");
        let probes = held.probes.expect("asked");
        assert_eq!((probes.asked, probes.answered), (3, 3));
        assert_eq!(held.until, (start + secs(100)).into_std());
        assert!(status.counters.holds_extended > 10, "{status:?}");
        assert_eq!(probe.asked("a") as u64, status.counters.loss_probe_rounds);
        next_change(&mut supervisor).await;
        assert_eq!(
            start.elapsed(),
            secs(100),
            "in the end the registry is believed"
        );
        assert_eq!(supervisor.status().counters.confirmed, 1);
        let told = warnings.take();
        assert!(
            told.iter()
                .any(|line| line.contains("although lost instances still answer")),
            "{told:?}"
        );
        let asked = probe.asked_in_all();
        changes(&mut supervisor, secs(60)).await;
        assert_eq!(
            probe.asked_in_all(),
            asked,
            "nobody is asked after the hold"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn where_none_answers_the_loss_is_believed_when_it_is_read_again() {
    for verdict in [ProbeVerdict::Fail, ProbeVerdict::Hang, ProbeVerdict::Panic] {
        let probe = ScriptedProbe::new();
        probe.set_all(verdict);
        let (script, mut supervisor, start) = lost(list(""), &probe).await;
        assert_eq!(next_change(&mut supervisor).await, "");
        let took = start.elapsed();
        assert!(took <= secs(3), "{verdict:?}: {took:?}");
        assert!(verdict != ProbeVerdict::Hang || took >= secs(1), "{took:?}");
        assert_eq!(
            script.fetches(),
            2,
            "at the start of the hold, and after the probes"
        );
        let counters = supervisor.status().counters;
        assert_eq!((counters.holds_cut, counters.confirmed), (1, 1));
        assert_eq!((probe.asked_in_all(), probe.alive()), (3, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn probes_alone_never_take_instances_away() {
    let probe = ScriptedProbe::new();
    probe.set_all(ProbeVerdict::Fail);
    // The registry fell silent after its empty push, and comes back with the instances.
    let (script, mut supervisor, _) = lost(list(""), &probe).await;
    script.fetch(Fetch::Give(Err("away")));
    assert!(changes(&mut supervisor, secs(300)).await.is_empty());
    assert!(supervisor.status().held.is_some());
    script.fetch(Fetch::Give(Ok(list("abc"))));
    assert!(changes(&mut supervisor, secs(60)).await.is_empty());
    assert_eq!(supervisor.status().counters.released, 1);
    assert!(supervisor.status().held.is_none());
}

#[tokio::test(start_paused = true)]
async fn where_a_few_answer_the_hold_is_what_it_was() {
    let probe = ScriptedProbe::new();
    probe.set_all(ProbeVerdict::Fail);
    probe.set("b", ProbeVerdict::Pass);
    let (_script, mut supervisor, start) = lost(list(""), &probe).await;
    assert_eq!(next_change(&mut supervisor).await, "");
    assert_eq!(start.elapsed(), secs(10));
    let counters = supervisor.status().counters;
    assert_eq!((counters.holds_cut, counters.holds_extended), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn instances_that_stop_to_answer_are_let_go() {
    let probe = ScriptedProbe::new();
    let (_script, mut supervisor, start) = lost(list(""), &probe).await;
    assert!(changes(&mut supervisor, secs(40)).await.is_empty());
    probe.set_all(ProbeVerdict::Fail);
    assert_eq!(next_change(&mut supervisor).await, "");
    let took = start.elapsed();
    assert!((secs(40)..secs(44)).contains(&took), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn of_a_large_service_a_few_are_asked_a_few_at_a_time() {
    let many = |health: bool| {
        (0..500).map(move |n| {
            let instance = Instance::builder(format!("i{n}"), "10.0.0.1:80");
            instance
                .healthy(health || n % 2 == 0)
                .build()
                .expect("legal")
        })
    };
    let all = Update::instances(many(false), Provenance::live("script"));
    let script = Script::new([vec![Step::Yield(Ok(all))]]);
    script.fetch(Fetch::Give(Ok(list(""))));
    let probe = ScriptedProbe::new();
    probe.set_all(ProbeVerdict::Hang);
    let supervisor = script.supervise(config());
    let mut supervisor = supervisor.with_loss_probe(Arc::new(probe.clone()));
    next_change(&mut supervisor).await;
    script.push(Ok(list("")));
    assert!(changes(&mut supervisor, millis(1)).await.is_empty());
    assert_eq!(probe.alive(), 8);
    assert!(changes(&mut supervisor, millis(4_100)).await.len() <= 1);
    assert_eq!((probe.asked_in_all(), probe.most_alive()), (32, 8));
    let odd = (0..250).map(|n| probe.asked(&format!("i{}", 2 * n + 1)));
    assert_eq!(
        odd.sum::<usize>(),
        0,
        "those that did not serve before say nothing"
    );
}

#[tokio::test(start_paused = true)]
async fn a_dropped_supervisor_asks_nobody_any_more() {
    let probe = ScriptedProbe::new();
    probe.set_all(ProbeVerdict::Hang);
    let (_script, mut supervisor, _) = lost(list(""), &probe).await;
    assert!(changes(&mut supervisor, millis(100)).await.is_empty());
    assert_eq!(probe.alive(), 3);
    drop(supervisor);
    assert_eq!(probe.alive(), 0);
}

#[tokio::test(start_paused = true)]
async fn without_a_hold_nobody_is_asked() {
    let probe = ScriptedProbe::new();
    let script = Script::new([vec![Step::Yield(Ok(list("abc")))]]);
    let supervisor = script.supervise(config().without_hold());
    let mut supervisor = supervisor.with_loss_probe(Arc::new(probe.clone()));
    assert_eq!(next_change(&mut supervisor).await, "abc");
    script.push(Ok(list("")));
    assert_eq!(next_change(&mut supervisor).await, "");
    assert_eq!(probe.asked_in_all(), 0);
}

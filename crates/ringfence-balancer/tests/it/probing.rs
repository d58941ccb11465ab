//! Asking ejected instances whether they serve again.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex},
    time::Duration,
};

use ringfence_balancer::{Balancer, BalancerConfig, FailureKind, Outcome, OutlierConfig};
use ringfence_core::Instance;
use ringfence_discovery::{BoxFuture, Probe, ProbeError};
use tokio::time::{Instant, sleep};

use crate::support::*;

/// How a probe ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Serves,
    Refuses,
    Hangs,
    Panics,
}

#[derive(Debug)]
struct State {
    answer: Answer,
    asked: Vec<(String, Instant)>,
    running: HashSet<String>,
    most_running: usize,
}

/// A probe that the test answers.
#[derive(Clone, Debug)]
struct Fake(Arc<Mutex<State>>);

impl Fake {
    fn new(answer: Answer) -> Self {
        Self(Arc::new(Mutex::new(State {
            answer,
            asked: Vec::new(),
            running: HashSet::new(),
            most_running: 0,
        })))
    }

    fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        act(&mut self.0.lock().expect("no panic under it"))
    }

    fn answer(&self, answer: Answer) {
        self.with(|state| state.answer = answer);
    }

    fn asked(&self) -> usize {
        self.with(|state| state.asked.len())
    }

    fn running(&self) -> usize {
        self.with(|state| state.running.len())
    }
}

/// Notes that a probe is over, or dropped.
struct Running(Fake, String);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.with(|state| state.running.remove(&self.1));
    }
}

impl Probe for Fake {
    fn probe<'a>(&'a self, instance: &'a Instance) -> BoxFuture<'a, Result<(), ProbeError>> {
        Box::pin(async move {
            let id = instance.id().to_string();
            let answer = self.with(|state| {
                state.asked.push((id.clone(), Instant::now()));
                assert!(state.running.insert(id.clone()), "asked twice at a time");
                state.most_running = state.most_running.max(state.running.len());
                state.answer
            });
            let _running = Running(self.clone(), id);
            sleep(Duration::from_millis(10)).await;
            match answer {
                Answer::Serves => Ok(()),
                Answer::Refuses => Err(ProbeError::new("refused")),
                Answer::Hangs => std::future::pending().await,
                Answer::Panics => panic!("a fault of the probe"),
            }
        })
    }
}

async fn probing(instances: usize, probe: &Fake) -> Balancer {
    let outlier = OutlierConfig::default()
        .with_max_ejection_percent(50)
        .expect("valid");
    let registry = registry((0..instances).map(instance));
    let balancer = Balancer::builder(registry, service())
        .with_config(BalancerConfig::default().with_outlier(outlier))
        .with_probe(probe.clone())
        .build()
        .expect("in a runtime");
    balancer.ready().await.expect("the registry answers");
    balancer
}

fn fail_by(balancer: &Balancer, key: &str, kind: FailureKind) {
    for _ in 0..5 {
        begin(balancer, key).report(Outcome::Failure(kind));
    }
}

#[tokio::test(start_paused = true)]
async fn a_restarted_instance_has_its_keys_back_within_five_seconds() {
    for kind in [FailureKind::Connect, FailureKind::Reset] {
        for down in [0, 1, 7, 100, 1_000] {
            let probe = Fake::new(Answer::Refuses);
            let balancer = probing(4, &probe).await;
            let key = key_of(&balancer, "i1");
            fail_by(&balancer, &key, kind);
            settle().await;
            seconds(down).await;
            assert_ne!(owner(&balancer, &key), "i1", "down for {down} s");
            assert_eq!(balancer.status().counters.ejections, 1, "nobody tried it");
            probe.answer(Answer::Serves);
            let start = Instant::now();
            // A request each 100 ms, as a quiet client has.
            let mut in_a_row = 0;
            while in_a_row < 5 {
                sleep(Duration::from_millis(100)).await;
                let mut attempt = begin(&balancer, &key);
                let is_owner = attempt.instance().id().as_str() == "i1";
                in_a_row = if is_owner { in_a_row + 1 } else { 0 };
                attempt.report(Outcome::Success);
                let waited = start.elapsed();
                assert!(
                    waited < Duration::from_secs(5),
                    "{kind:?}, down for {down} s"
                );
            }
            settle().await;
            let status = balancer.status();
            assert_eq!((status.ejected, status.on_trial), (0, 0));
            assert_eq!(status.counters.returns_by_probe, 1);
            let asked = probe.asked();
            seconds(60).await;
            assert_eq!(probe.asked(), asked, "nobody is asked who serves");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn ejections_for_timeouts_and_answers_last_their_time() {
    for kind in [FailureKind::Timeout, FailureKind::Status] {
        let probe = Fake::new(Answer::Serves);
        let balancer = probing(4, &probe).await;
        let key = key_of(&balancer, "i1");
        fail_by(&balancer, &key, kind);
        seconds(29).await;
        assert_eq!((balancer.status().ejected, probe.asked()), (1, 0));
        seconds(5).await;
        assert_eq!(balancer.status().on_trial, 1);
        // Back on trial it cannot be reached: that is for the probe to tell.
        fail(&balancer, &key, 1);
        settle().await;
        assert_eq!(balancer.status().ejected, 1);
        seconds(2).await;
        assert_eq!(balancer.status().on_trial, 1);
    }
}

#[tokio::test(start_paused = true)]
async fn probes_that_hang_or_panic_have_failed() {
    for answer in [Answer::Hangs, Answer::Panics] {
        let probe = Fake::new(answer);
        let balancer = probing(4, &probe).await;
        let key = key_of(&balancer, "i1");
        fail(&balancer, &key, 5);
        seconds(100).await;
        assert_eq!(balancer.status().ejected, 1, "past its time");
        assert!((30..130).contains(&probe.asked()), "{}", probe.asked());
        probe.answer(Answer::Serves);
        seconds(4).await;
        assert_eq!(balancer.status().on_trial, 1);
    }
}

#[tokio::test(start_paused = true)]
async fn sixteen_are_asked_at_a_time() {
    let probe = Fake::new(Answer::Hangs);
    let balancer = probing(100, &probe).await;
    for n in 0..50 {
        let key = key_of(&balancer, &format!("i{n}"));
        fail(&balancer, &key, 3);
    }
    settle().await;
    assert_eq!(balancer.status().ejected, 50);
    seconds(20).await;
    assert_eq!(probe.with(|state| state.most_running), 16);
}

#[tokio::test(start_paused = true)]
async fn the_pauses_are_jittered_and_few_are_asked_at_a_time() {
    let probe = Fake::new(Answer::Refuses);
    let balancer = probing(100, &probe).await;
    let keys: Vec<_> = (0..50)
        .map(|n| key_of(&balancer, &format!("i{n}")))
        .collect();
    // The more are out, the more keys are others': only the first picks are right.
    for (n, key) in keys.iter().enumerate() {
        if owner(&balancer, key) == format!("i{n}") {
            fail(&balancer, key, 3);
        }
    }
    settle().await;
    let out = balancer.status().ejected;
    assert!(out > 40, "{out}");
    seconds(20).await;
    let asked = probe.with(|state| state.asked.clone());
    let of_one: Vec<_> = asked.iter().filter(|(id, _)| *id == asked[0].0).collect();
    let pauses: HashSet<_> = of_one
        .windows(2)
        .map(|pair| pair[1].1 - pair[0].1)
        .collect();
    assert!(pauses.len() > 5, "{pauses:?}");
    for pause in pauses {
        let range = Duration::from_millis(800)..Duration::from_millis(1_300);
        assert!(range.contains(&pause), "{pause:?}");
    }
    assert!(asked.len() > out * 15, "all of them have their turn");
}

#[tokio::test(start_paused = true)]
async fn probes_end_with_the_balancer_and_with_the_ejection() {
    let probe = Fake::new(Answer::Hangs);
    let registry = registry((0..4).map(instance));
    let outlier = OutlierConfig::default().with_probe_timeout(Duration::from_secs(3_600));
    let balancer = Balancer::builder(registry.clone(), service())
        .with_config(BalancerConfig::default().with_outlier(outlier.expect("valid")))
        .with_probe(probe.clone())
        .build()
        .expect("in a runtime");
    balancer.ready().await.expect("ready");
    let key = key_of(&balancer, "i1");
    fail(&balancer, &key, 3);
    seconds(2).await;
    assert_eq!(probe.running(), 1);
    // It leaves: nobody wants to know any more.
    registry.deregister(service(), "i1");
    settle().await;
    settle().await;
    assert_eq!(probe.running(), 0);
    registry.register(service(), instance(1));
    merged().await;
    seconds(2).await;
    assert_eq!(probe.running(), 1, "it is still ejected");
    drop(balancer);
    settle().await;
    assert_eq!(probe.running(), 0);
}

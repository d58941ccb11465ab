//! The policy from a document: good, bad, gone, out of reach.

use std::{fs, sync::Arc, time::Duration};

use ringfence_balancer::{
    Balancer, BalancerBuilder, BalancerConfig, CompiledPolicy, PickRequest, PolicyContext,
    PolicyFault, PolicySourceStatus,
};
use ringfence_core::{
    EnvoyRing, HashAlgorithm, Maglev, Pool, Ring, RingConfig, RoutePlans, Selector,
};
use ringfence_discovery::{DocumentSource, ErrorKind, FileDocument};
use ringfence_policy::PolicyDocument;

use ringfence_testkit::{ScriptedDiscovery, ScriptedDocument, Warnings};
use tempfile::TempDir;
use tokio::time::{Instant, sleep, timeout};

use crate::support::*;

fn document(rule: &str) -> String {
    format!("ringfence: 1\nrules:\n  - name: {rule}\n    key: [{{ header: x-user }}]\n")
}

const BAD: &str = "ringfence: 1\nrules:\n  - name: all\n    kee: []\n";

fn builder(source: impl DocumentSource) -> BalancerBuilder {
    Balancer::builder(registry((0..4).map(instance)), service())
        .with_policy_source(source, PolicyContext::new())
}

async fn ready(builder: BalancerBuilder) -> Balancer {
    let balancer = builder.build().expect("in a runtime");
    balancer.ready().await.expect("the registry answers");
    balancer
}

/// The name of the first rule in force.
fn rule(balancer: &Balancer) -> Option<String> {
    let policy = balancer.policy()?;
    let rule = policy.document().rules.first()?;
    Some(rule.name.clone())
}

fn source_status(balancer: &Balancer) -> PolicySourceStatus {
    balancer.status().policy_source.expect("it has a source")
}

/// Judging is done beside the task, in time of its own.
async fn until(balancer: &Balancer, holds: impl Fn(&PolicySourceStatus) -> bool) {
    let held = async {
        while !holds(&source_status(balancer)) {
            sleep(Duration::from_millis(1)).await;
        }
        // What was read has still to be swapped in.
        settle().await;
    };
    if timeout(Duration::from_secs(30), held).await.is_err() {
        panic!("never: {:?}", source_status(balancer));
    }
}

#[tokio::test(start_paused = true)]
async fn the_first_view_has_the_policy_of_the_document() {
    let source = ScriptedDocument::new();
    source.put(document("one"));
    let balancer = ready(builder(source)).await;
    assert_eq!(rule(&balancer).as_deref(), Some("one"));
    assert_eq!(balancer.view().expect("one").epoch(), 1, "never without it");
    let status = source_status(&balancer);
    assert_eq!((&*status.source, status.accepted), ("scripted", 1));
    assert_eq!(status.revision.map(|revision| revision.get()), Some(1));
}

#[tokio::test(start_paused = true)]
async fn a_good_document_swaps_and_a_bad_one_keeps_the_old_and_says_where_it_is_wrong() {
    let source = ScriptedDocument::new();
    source.put(document("one"));
    let balancer = ready(builder(source.clone())).await;
    let epoch = balancer.status().epoch;
    source.put(document("two"));
    until(&balancer, |status| status.accepted == 2).await;
    assert_eq!(rule(&balancer).as_deref(), Some("two"));
    assert!(balancer.status().epoch > epoch);
    assert_eq!(balancer.status().counters.policies_applied, 1);

    let warnings = Warnings::capture();
    let in_force = balancer.policy().expect("one");
    let epoch = balancer.status().epoch;
    source.put(BAD);
    until(&balancer, |status| status.rejected == 1).await;
    let status = source_status(&balancer);
    let fault = status.fault.expect("it is bad");
    assert_eq!(fault.line(), Some(4), "{fault}");
    let PolicyFault::Invalid(error) = &fault else {
        panic!("{fault:?}");
    };
    assert!(error.path().starts_with("rules[0]"), "{error}");
    assert!(
        error.reason().contains("`key`"),
        "names the nearest: {error}"
    );
    assert_eq!(status.revision.map(|r| r.get()), Some(2), "the good one's");
    assert!(Arc::ptr_eq(&in_force, &balancer.policy().expect("one")));
    assert_eq!(balancer.status().epoch, epoch);
    let lines = warnings.take();
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].contains("line 4"), "{lines:?}");

    source.put(b"ringfence: 1\n# \xff\n");
    until(&balancer, |status| status.rejected == 2).await;
    let fault = source_status(&balancer).fault;
    assert_eq!(fault, Some(PolicyFault::NotText { line: 2 }));
    source.put("");
    until(&balancer, |status| status.rejected == 3).await;
    assert_eq!(rule(&balancer).as_deref(), Some("two"));
    assert_eq!(warnings.take().len(), 2);

    source.put(document("three"));
    until(&balancer, |status| status.accepted == 3).await;
    assert_eq!(rule(&balancer).as_deref(), Some("three"));
    assert_eq!(source_status(&balancer).fault, None);
}

#[tokio::test(start_paused = true)]
async fn a_fault_that_lasts_is_logged_once_and_a_document_that_repeats_is_judged_once() {
    let source = ScriptedDocument::new();
    source.put(document("one"));
    let balancer = ready(builder(source.clone())).await;
    let warnings = Warnings::capture();
    for n in 1..=5 {
        source.put(BAD);
        source.repeat();
        source.put(format!("{BAD}\n"));
        until(&balancer, |status| status.rejected == 2 * n).await;
        source.fail(ErrorKind::Unavailable);
        until(&balancer, |status| status.read_errors == n).await;
        // Errors that follow each other closely would end the watch.
        sleep(Duration::from_secs(1)).await;
    }
    let lines = warnings.take();
    assert_eq!(lines.len(), 2, "a fault, a failure: {lines:?}");
    let epoch = balancer.status().epoch;
    source.put(document("one"));
    source.repeat();
    until(&balancer, |status| status.accepted == 2).await;
    source.repeat();
    sleep(Duration::from_secs(1)).await;
    assert_eq!(source_status(&balancer).accepted, 2);
    assert_eq!(balancer.status().epoch, epoch + 1);
}

#[tokio::test(start_paused = true)]
async fn a_document_that_is_deleted_and_a_source_that_fails_keep_the_policy() {
    let source = ScriptedDocument::new();
    source.put(document("one"));
    let balancer = ready(builder(source.clone())).await;
    source.delete();
    until(&balancer, |status| {
        status.fault == Some(PolicyFault::Absent)
    })
    .await;
    assert_eq!(rule(&balancer).as_deref(), Some("one"));
    source.fail(ErrorKind::Unavailable);
    source.end();
    until(&balancer, |status| status.read_error.is_some()).await;
    assert_eq!(rule(&balancer).as_deref(), Some("one"));
    source.put(document("two"));
    until(&balancer, |status| status.accepted == 2).await;
    let status = source_status(&balancer);
    assert!(
        status.fault.is_none() && status.read_error.is_none(),
        "{status:?}"
    );
    assert_eq!(rule(&balancer).as_deref(), Some("two"));
}

#[tokio::test(start_paused = true)]
async fn what_is_there_from_the_start_serves_until_the_first_good_document() {
    for (what, say) in [
        (
            "absent",
            (|source: &ScriptedDocument| source.delete()) as fn(&ScriptedDocument),
        ),
        ("bad", |source| source.put(BAD)),
        ("failing", |source| source.set_panicking(true)),
        ("silent", |_| {}),
    ] {
        let source = ScriptedDocument::new();
        say(&source);
        let first = Arc::new(CompiledPolicy::of_plans(RoutePlans::default()));
        let start = Instant::now();
        let balancer = ready(builder(source.clone()).with_policy(first.clone())).await;
        let waited = start.elapsed();
        assert_eq!(waited > Duration::from_secs(1), what == "silent", "{what}");
        assert!(waited < Duration::from_secs(3), "{what}: {waited:?}");
        let policy = balancer.policy().expect("the first");
        assert!(Arc::ptr_eq(&policy, &first), "{what}");
        balancer.pick(&PickRequest::new()).expect("served");
        source.set_panicking(false);
        source.put(document("one"));
        until(&balancer, |status| status.accepted == 1).await;
        assert_eq!(rule(&balancer).as_deref(), Some("one"), "{what}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_policy_set_by_hand_is_in_force_until_the_document_changes() {
    let source = ScriptedDocument::new();
    source.put(document("one"));
    let balancer = ready(builder(source.clone())).await;
    balancer.set_policy(CompiledPolicy::of_plans(RoutePlans::default()));
    settle().await;
    assert_eq!(rule(&balancer), None);
    source.repeat();
    sleep(Duration::from_secs(1)).await;
    assert_eq!(rule(&balancer), None);
    source.put(document("two"));
    until(&balancer, |status| status.accepted == 2).await;
    assert_eq!(rule(&balancer).as_deref(), Some("two"));
}

#[tokio::test(start_paused = true)]
async fn the_watch_of_the_document_ends_with_the_balancer() {
    let source = ScriptedDocument::new();
    source.put(document("one"));
    let balancer = ready(builder(source.clone())).await;
    assert_eq!(source.open(), 1);
    drop(balancer);
    settle().await;
    assert_eq!((source.open(), source.opened()), (0, 1));

    let balancer = ready(builder(source.clone())).await;
    balancer.shutdown().await;
    assert_eq!((source.open(), source.opened()), (0, 2));
}

#[tokio::test(start_paused = true)]
async fn without_a_source_there_is_no_status_of_one_and_no_wait() {
    let registry = ScriptedDiscovery::new();
    registry.push_instances((0..2).map(instance));
    let start = Instant::now();
    let balancer = ready(Balancer::builder(registry, service())).await;
    assert!(balancer.status().policy_source.is_none());
    assert_eq!(start.elapsed(), Duration::ZERO);
}

/// Of real files and real time: from writing to routing.
#[tokio::test]
async fn a_file_is_in_force_soon_after_it_was_written() {
    let dir = TempDir::new().expect("a folder");
    let path = dir.path().join("policy.yaml");
    fs::write(&path, document("one")).expect("writable");
    let balancer = ready(builder(FileDocument::new(&path))).await;
    assert_eq!(rule(&balancer).as_deref(), Some("one"));
    let start = Instant::now();
    fs::write(&path, document("two")).expect("writable");
    until(&balancer, |status| status.accepted == 2).await;
    assert_eq!(rule(&balancer).as_deref(), Some("two"));
    assert!(
        start.elapsed() < Duration::from_secs(2),
        "{:?}",
        start.elapsed()
    );
    fs::write(&path, BAD).expect("writable");
    until(&balancer, |status| status.rejected == 1).await;
    fs::remove_file(&path).expect("there");
    until(&balancer, |status| {
        status.fault == Some(PolicyFault::Absent)
    })
    .await;
    assert_eq!(rule(&balancer).as_deref(), Some("two"));
}

/// A policy's section `ring` takes the place of the settings in code: at the start, on reload, and until it is gone.
#[tokio::test(start_paused = true)]
async fn a_document_says_how_keys_are_mapped() {
    let with_ring = |ring: &str| format!("{{ ringfence: 1, ring: {{ {ring} }} }}");
    let algorithm = |balancer: &Balancer| {
        let view = balancer.view().expect("one");
        view.config().ring().algorithm().as_str()
    };
    let source = ScriptedDocument::new();
    source.put(with_ring("algorithm: maglev, table_size: 251"));
    let balancer = ready(builder(source.clone())).await;
    assert_eq!(
        (algorithm(&balancer), balancer.status().epoch),
        ("maglev", 1)
    );
    let expected = |ring: RingConfig| {
        let pool = Pool::select(balancer.view().expect("one").snapshot(), &Selector::any());
        let made = Ring::build(&pool, &ring);
        let owner = |n| {
            let key = key(n);
            let member = made.owner(ring.hash_key(key.as_bytes())).expect("one");
            pool.instance(member).expect("a member").id().to_string()
        };
        ((0..200).map(owner).collect::<Vec<_>>(), made.fingerprint())
    };
    let holds = |ring: RingConfig| {
        let (owners_of_keys, fingerprint) = expected(ring);
        assert_eq!(owners(&balancer, 200), owners_of_keys);
        assert_eq!(balancer.status().fingerprint, Some(fingerprint));
    };
    let small = Maglev::default().with_table_size(251).expect("prime");
    holds(RingConfig::default().with_algorithm(small));

    source.put(with_ring("algorithm: envoy-ring, min_ring_size: 64"));
    until(&balancer, |status| status.accepted == 2).await;
    let envoy = EnvoyRing::default().with_ring_sizes(64, 8_388_608);
    let envoy = RingConfig::default().with_algorithm(envoy.expect("legal"));
    holds(envoy.clone());
    assert_eq!(balancer.status().counters.policies_applied, 1);

    // One that is refused changes nothing.
    source.put(with_ring("algorithm: envoy-ring, table_size: 251"));
    until(&balancer, |status| status.rejected == 1).await;
    holds(envoy);

    source.put("ringfence: 1");
    until(&balancer, |status| status.accepted == 3).await;
    holds(RingConfig::default());
}

/// Without the section the settings in code hold, and a policy set by hand counts as one from a document.
#[tokio::test(start_paused = true)]
async fn settings_in_code_hold_where_the_policy_is_silent() {
    let config = BalancerConfig::default()
        .with_ring(RingConfig::default().with_algorithm(HashAlgorithm::Rendezvous));
    let balancer = balancer(&registry((0..6).map(instance)), config).await;
    let algorithm = || {
        let view = balancer.view().expect("one");
        view.config().ring().algorithm().to_string()
    };
    let by_scores = owners(&balancer, 100);
    assert_eq!(algorithm(), "rendezvous");
    let set = |text: &str| {
        let policy = PolicyDocument::parse_and_compile(text, &PolicyContext::new());
        balancer.set_policy(policy.expect("legal"));
    };
    set("{ ringfence: 1, ring: { algorithm: nginx } }");
    settle().await;
    assert_eq!(algorithm(), "nginx");
    assert_ne!(owners(&balancer, 100), by_scores);
    set("{ ringfence: 1, rules: [{ name: all, key: [{ header: x-user }] }] }");
    settle().await;
    assert_eq!(algorithm(), "rendezvous");
    assert_eq!(owners(&balancer, 100), by_scores);
}

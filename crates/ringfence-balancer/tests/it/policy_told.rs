//! What the log and the status tell of a policy and its source.

use std::time::Duration;

use ringfence_balancer::{Balancer, BalancerBuilder, CompiledPolicy, PolicyContext, PolicyFault};
use ringfence_core::RoutePlans;
use ringfence_discovery::ErrorKind;
use ringfence_policy::PolicyDocument;
use ringfence_testkit::{ScriptedDocument, Warnings};
use tokio::time::{sleep, timeout};

use crate::support::*;

const GOOD: &str = "ringfence: 1\nrules: [{ name: all }]";
const BAD: &str = "ringfence: 1\nrules: [{ name: all, kee: [] }]";

fn builder(source: &ScriptedDocument) -> BalancerBuilder {
    Balancer::builder(registry((0..4).map(instance)), service())
        .with_policy_source(source.clone(), PolicyContext::new())
}

async fn ready(builder: BalancerBuilder) -> Balancer {
    let balancer = builder.build().expect("in a runtime");
    balancer.ready().await.expect("the registry answers");
    balancer
}

async fn until(warnings: &Warnings) -> String {
    let told = async {
        loop {
            if let [line] = &*warnings.take() {
                return line.clone();
            }
            sleep(Duration::from_millis(1)).await;
        }
    };
    timeout(Duration::from_secs(30), told)
        .await
        .expect("it is told")
}

#[tokio::test(start_paused = true)]
async fn a_fault_names_the_document_and_what_stays_in_force() {
    const NONE: &str = "no policy is in force";
    const BEFORE: &str = "the policy before it stays";
    for (say, has_fallback, stays) in [
        (
            (|source| source.put(BAD)) as fn(&ScriptedDocument),
            false,
            NONE,
        ),
        (|source| source.delete(), false, NONE),
        (|source| source.fail(ErrorKind::Unavailable), false, NONE),
        (|_| {}, false, NONE),
        (|source| source.put(BAD), true, BEFORE),
        (|source| source.fail(ErrorKind::Unavailable), true, BEFORE),
    ] {
        let source = ScriptedDocument::new();
        let mut builder = builder(&source);
        if has_fallback {
            builder = builder.with_policy(CompiledPolicy::of_plans(RoutePlans::default()));
        }
        let warnings = Warnings::capture();
        let balancer = builder.build().expect("in a runtime");
        settle().await;
        say(&source);
        let line = until(&warnings).await;
        assert!(line.contains("document=policy.yaml"), "{line}");
        assert!(line.contains(stays), "{line}");
        assert_eq!(balancer.latest_policy().is_some(), has_fallback);
    }
}

#[tokio::test(start_paused = true)]
async fn a_source_that_cannot_be_read_does_not_show_an_older_fault_until_it_is_read_again() {
    let source = ScriptedDocument::new();
    source.put(GOOD);
    let balancer = ready(builder(&source)).await;
    let status = || balancer.status().policy_source.expect("it has a source");
    assert_eq!(&*status().document, "policy.yaml");
    source.delete();
    sleep(Duration::from_secs(1)).await;
    assert_eq!(status().fault, Some(PolicyFault::Absent));

    source.fail(ErrorKind::Unavailable);
    sleep(Duration::from_secs(1)).await;
    assert!(status().read_error.is_some());
    assert_eq!(
        status().fault,
        None,
        "whether it is still absent, nobody knows"
    );

    source.repeat();
    sleep(Duration::from_secs(1)).await;
    assert!(status().read_error.is_none());
    assert_eq!(status().fault, Some(PolicyFault::Absent));
}

#[tokio::test(start_paused = true)]
async fn what_has_no_effect_is_logged_once_for_each_policy_that_is_applied() {
    let registry = registry((0..4).map(instance));
    let balancer = ready(Balancer::builder(registry.clone(), service())).await;
    let compiled =
        |text: &str| PolicyDocument::parse_and_compile(text, &PolicyContext::new()).expect("legal");
    let text = "ringfence: 1\nzone: { prefer_local: true }\nrules: [{ name: a }, { name: b }]";
    let warnings = Warnings::capture();
    balancer.set_policy(compiled(text));
    settle().await;
    let lines = warnings.take();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[0].contains("zone.prefer_local"), "{lines:?}");
    assert!(lines[1].contains("rules[1]"), "{lines:?}");

    // Another view, the same policy.
    registry.register(service(), instance(9));
    sleep(Duration::from_secs(5)).await;
    assert_eq!(balancer.status().instances, 5);
    assert_eq!(warnings.take(), Vec::<String>::new());

    let many: String = (0..40).map(|n| format!("  - name: r{n}\n")).collect();
    balancer.set_policy(compiled(&format!("ringfence: 1\nrules:\n{many}")));
    settle().await;
    let lines = warnings.take();
    assert_eq!(lines.len(), 17, "{lines:?}");
    assert!(lines[16].contains("more=23"), "{lines:?}");
}

//! What the log tells a person to look after.

use ringfence_discovery::WatchConfig;
use ringfence_testkit::Warnings;

use crate::script::{Script, Step, changes, list, secs};

/// Consul answers a missing token and a misspelt name alike: with an empty list.
#[tokio::test(start_paused = true)]
async fn a_first_list_without_instances_is_told_once() {
    for (first, expected) in [(list(""), 1), (list("a"), 0)] {
        let warnings = Warnings::capture();
        let script = Script::new([vec![Step::Yield(Ok(first))]]);
        let mut supervisor = script.supervise(WatchConfig::default());
        supervisor.next().await;
        for next in ["a", "", "a", ""] {
            script.push(Ok(list(next)));
            changes(&mut supervisor, secs(60)).await;
        }
        let told = warnings.take();
        let told: Vec<_> = told
            .iter()
            .filter(|line| line.contains("lists no instance"))
            .collect();
        assert_eq!(told.len(), expected, "{told:?}");
        assert!(told.iter().all(|line| line.contains("check the name")));
    }
}

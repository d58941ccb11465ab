//! Settings that do not go together.
#![allow(clippy::unwrap_used, clippy::panic, reason = "all of it is tests")]

mod common;

use std::time::Duration;

use common::{Cluster, config};
use ringfence_balancer::{HealthCheckConfig, TcpProbe};
use ringfence_tower::{RetryPolicy, RingfenceLayer};

const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// One that has the finding of a code, and one that just does not.
async fn examples(code: &str) -> [RingfenceLayer; 2] {
    let cluster = Cluster::start(&[("a", "a:80")]).await;
    let layer = |retry| cluster.layer().with_retry(retry);
    let hedged = |delay| RetryPolicy::default().with_hedging(millis(delay));
    match code {
        "RF-C101" => {
            let checked = |interval| async move {
                let second = Duration::from_secs(1);
                let times = HealthCheckConfig::default().with_times(interval * second, second);
                let instances = [common::instance("a", "a:80")];
                Cluster::build(instances, |balancer| {
                    balancer
                        .with_config(config())
                        .with_health_check(TcpProbe, times.unwrap())
                })
                .await
                .layer()
            };
            // Of 10 s and 5 s.
            [checked(16).await, checked(15).await]
        }
        "RF-C105" => [999, 1_000]
            .map(|limit| layer(RetryPolicy::default().with_per_try_timeout(millis(limit)))),
        "RF-C120" => {
            [2_000, 1_999].map(|delay| layer(hedged(delay).with_per_try_timeout(millis(2_000))))
        }
        "RF-C121" => {
            let once = config().with_max_attempts(1).unwrap();
            let once = Cluster::with_config(&[("a", "a:80")], once).await;
            let unprocessed = RetryPolicy::unprocessed_only().with_hedging(millis(1));
            assert_eq!(layer(unprocessed).findings()[0].code(), code);
            [once.layer().with_retry(hedged(1)), layer(hedged(1))]
        }
        "RF-C122" => [249, 250]
            .map(|max| layer(RetryPolicy::default().with_backoff(millis(250), millis(max)))),
        "RF-C123" => [16 * 1_024 * 1_024 + 1, 16 * 1_024 * 1_024]
            .map(|bytes| cluster.layer().with_replay_limit(bytes)),
        unknown => panic!("{unknown} has no examples"),
    }
}

fn codes(layer: &RingfenceLayer) -> Vec<&'static str> {
    #[cfg(feature = "tonic")]
    let findings = layer.findings_with(&ringfence_tower::TonicConnector::new());
    #[cfg(not(feature = "tonic"))]
    let findings = layer.findings();
    findings
        .iter()
        .map(ringfence_balancer::ConfigFinding::code)
        .collect()
}

#[tokio::test]
async fn each_code_has_an_example_with_it_and_one_without() {
    let all = RingfenceLayer::finding_codes();
    assert!(all.len() >= 4);
    for code in all {
        let [bad, good] = examples(code).await;
        assert_eq!(codes(&bad), [code]);
        assert_eq!(codes(&good), [""; 0], "beside {code}");
    }
}

#[tokio::test]
async fn those_of_the_balancer_are_among_them() {
    let slow = config()
        .with_update_merge_window(Duration::from_secs(5))
        .unwrap();
    let cluster = Cluster::with_config(&[("a", "a:80")], slow).await;
    assert_eq!(codes(&cluster.layer()), ["RF-C107"]);
}

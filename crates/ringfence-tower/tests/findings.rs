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

/// A layer whose instances are checked each so many seconds.
async fn checked(seconds: u32, retry: RetryPolicy) -> RingfenceLayer {
    let second = Duration::from_secs(1);
    let times = HealthCheckConfig::default().with_times(seconds * second, second);
    let cluster = Cluster::build([common::instance("a", "a:80")], |balancer| {
        let balancer = balancer.with_config(config());
        balancer.with_health_check(TcpProbe, times.unwrap())
    });
    cluster.await.layer().with_retry(retry)
}

/// One that has the finding of a code, and one that just does not.
async fn examples(code: &str) -> [RingfenceLayer; 2] {
    let cluster = Cluster::start(&[("a", "a:80")]).await;
    let layer = |retry| cluster.layer().with_retry(retry);
    let usual = RetryPolicy::default;
    let hedged = |delay| usual().with_hedging(millis(delay));
    match code {
        // The keepalive gives up after 10 s and 5 s.
        "RF-C101" => [checked(16, usual()).await, checked(15, usual()).await],
        "RF-C120" => {
            let limited = |delay| hedged(delay).with_per_try_timeout(millis(2_000));
            [
                checked(10, limited(2_000)).await,
                checked(10, limited(1_999)).await,
            ]
        }
        "RF-C121" => {
            let unprocessed = RetryPolicy::unprocessed_only().with_hedging(millis(1));
            [checked(10, unprocessed).await, checked(10, hedged(1)).await]
        }
        "RF-C122" => [249, 250].map(|max| layer(usual().with_backoff(millis(250), millis(max)))),
        "RF-C123" => [16 * 1_024 * 1_024 + 1, 16 * 1_024 * 1_024]
            .map(|bytes| cluster.layer().with_replay_limit(bytes)),
        "RF-C124" => [layer(hedged(1)), checked(10, hedged(1)).await],
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

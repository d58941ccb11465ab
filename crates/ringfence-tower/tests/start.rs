//! Calls before the registry was heard, by the balancer's start policy.
#![allow(clippy::unwrap_used, reason = "all of it is tests")]

use std::convert::Infallible;
use std::time::Duration;

use http::{Request, Response};
use ringfence_balancer::{Balancer, BalancerConfig, StartPolicy};
use ringfence_core::Instance;
use ringfence_testkit::ScriptedDiscovery;
use ringfence_tower::{Body, Error, RingfenceLayer};
use tokio::time::Instant;
use tower::{ServiceExt as _, service_fn};

/// A call through a layer; gives the authority that it was sent to.
async fn call(balancer: Balancer) -> Result<String, Error> {
    let answer = |request: Request<Body>| async move {
        let at = request.uri().authority().unwrap().as_str();
        Ok::<_, Infallible>(
            Response::builder()
                .header("at", at)
                .body(String::new())
                .unwrap(),
        )
    };
    let client = RingfenceLayer::new(balancer).wrap(service_fn(answer));
    let request = Request::get("/").body(Body::empty()).unwrap();
    let response = client.oneshot(request).await?;
    Ok(response.headers()["at"].to_str().unwrap().to_owned())
}

fn build(source: &ScriptedDiscovery, policy: StartPolicy) -> Balancer {
    let config = BalancerConfig::default().with_start_policy(policy);
    let builder = Balancer::builder(source.clone(), "order").with_config(config);
    builder.build().unwrap()
}

#[tokio::test(start_paused = true)]
async fn the_first_call_of_a_lazy_balancer_starts_the_watch_and_is_served() {
    let source = ScriptedDiscovery::new();
    source.push_instances([Instance::builder("a", "10.0.0.1:80").build().unwrap()]);
    let balancer = build(&source, StartPolicy::Lazy);
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!((source.watches(), source.fetches()), (0, 0));
    assert_eq!(call(balancer).await.unwrap(), "10.0.0.1:80");
    assert_eq!(source.watches(), 1);
}

#[tokio::test(start_paused = true)]
async fn calls_wait_for_the_registry_or_fail_at_once() {
    for (policy, waits) in [
        (StartPolicy::Wait, 5),
        (StartPolicy::Lazy, 5),
        (StartPolicy::Fail, 0),
    ] {
        let balancer = build(&ScriptedDiscovery::new(), policy);
        let start = Instant::now();
        call(balancer).await.unwrap_err();
        assert_eq!(start.elapsed(), Duration::from_secs(waits), "{policy:?}");
    }
}

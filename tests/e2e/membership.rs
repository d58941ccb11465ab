//! Instances that come, change and go while calls run (B39, B04).

use std::time::Duration;

use ringfence::RoutingKey;
use ringfence_echo::EchoRequest;
use ringfence_tests::{
    client::{balancer, call, echo, registry, service, until, until_instances},
    fleet::Fleet,
};
use tokio_stream::StreamExt;
use tonic::Request;

fn slow_stream(count: u32) -> Request<EchoRequest> {
    let mut request = Request::new(EchoRequest::new("x").with_count(count).with_delay_ms(20));
    request.extensions_mut().insert(RoutingKey::from("key"));
    request
}

#[tokio::test]
async fn a_removed_instance_ends_its_running_stream_and_is_then_closed() {
    let fleet = Fleet::start(["a", "b"]).await;
    let source = registry([fleet.instance("a").build().unwrap()]);
    let balancer = balancer(source.clone());
    let mut echo = echo(&balancer);
    let mut stream = echo
        .server_stream(slow_stream(20))
        .await
        .unwrap()
        .into_inner();
    assert_eq!(stream.next().await.unwrap().unwrap().instance, "a");

    source.replace(service(), [fleet.instance("b").build().unwrap()]);
    until(|| {
        balancer
            .view()
            .is_some_and(|view| view.snapshot().get("b").is_some())
    })
    .await;
    assert_eq!(
        call(&echo, "key").await.unwrap(),
        "b",
        "no new request goes to the removed one"
    );
    let rest: Vec<_> = stream.collect().await;
    assert_eq!(rest.len(), 19);
    assert!(rest.iter().all(Result::is_ok), "the stream ends well");
    until(|| fleet.server("a").open_connections() == 0).await;
    assert_eq!(
        fleet.server("a").connections(),
        1,
        "nobody dialled it again"
    );
}

#[tokio::test]
async fn an_instance_that_flickers_keeps_its_stream_and_its_connection() {
    let fleet = Fleet::start(["a", "b"]).await;
    let both = ["a", "b"].map(|id| fleet.instance(id).build().unwrap());
    let source = registry(both.clone());
    let balancer = balancer(source.clone());
    let mut echo = echo(&balancer);
    let mut stream = echo
        .server_stream(slow_stream(20))
        .await
        .unwrap()
        .into_inner();
    let home = stream.next().await.unwrap().unwrap().instance;

    source.deregister(service(), &home);
    until_instances(&balancer, 1).await;
    source.replace(service(), both);
    until_instances(&balancer, 2).await;
    assert_eq!(call(&echo, "key").await.unwrap(), home, "its keys are back");
    let rest: Vec<_> = stream.collect().await;
    assert!(rest.len() == 19 && rest.iter().all(Result::is_ok));
    assert_eq!(
        fleet.server(&home).connections(),
        1,
        "one connection all along"
    );
}

#[tokio::test]
async fn a_change_of_tags_weight_or_health_needs_no_new_connection() {
    let fleet = Fleet::start(["a"]).await;
    let source = registry([fleet.instance("a").build().unwrap()]);
    let balancer = balancer(source.clone());
    let echo = echo(&balancer);
    let mut epoch = 0;
    for instance in [
        fleet.instance("a"),
        fleet.instance("a").tag("k", "v"),
        fleet.instance("a").weight(7),
        fleet.instance("a").zone("z").healthy(false),
    ] {
        source.replace(service(), [instance.build().unwrap()]);
        until(|| balancer.view().is_some_and(|view| view.epoch() > epoch)).await;
        epoch = balancer.view().unwrap().epoch();
        assert_eq!(call(&echo, "key").await.unwrap(), "a");
    }
    assert_eq!(fleet.server("a").connections(), 1);
}

#[tokio::test]
async fn a_drained_instance_finishes_what_it_has_and_gets_nothing_new() {
    let fleet = Fleet::start(["a", "b"]).await;
    let source = registry(["a", "b"].map(|id| fleet.instance(id).build().unwrap()));
    let balancer = balancer(source.clone());
    let mut echo = echo(&balancer);
    let mut stream = echo
        .server_stream(slow_stream(10))
        .await
        .unwrap()
        .into_inner();
    let home = stream.next().await.unwrap().unwrap().instance;
    source.set_weight(service(), &home, 0).unwrap();
    until(|| {
        balancer
            .view()
            .is_some_and(|v| v.snapshot().get(&home).is_some_and(|i| !i.takes_traffic()))
    })
    .await;
    for key in 0..50 {
        assert_ne!(call(&echo, &key.to_string()).await.unwrap(), home);
    }
    let rest: Vec<_> = stream.collect().await;
    assert!(rest.len() == 9 && rest.iter().all(Result::is_ok));
}

/// In-flight counts belong to the call: gone with it, whatever the registry did meanwhile.
#[tokio::test]
async fn in_flight_counts_survive_nothing_but_their_call() {
    let fleet = Fleet::start(["a"]).await;
    let source = registry([fleet.instance("a").build().unwrap()]);
    let balancer = balancer(source.clone());
    let mut echo = echo(&balancer);
    let in_flight = || {
        let decision = balancer
            .pick(&ringfence::PickRequest::new().with_key("key"))
            .unwrap();
        decision.first().in_flight()
    };
    let mut stream = echo
        .server_stream(slow_stream(1_000))
        .await
        .unwrap()
        .into_inner();
    stream.next().await.unwrap().unwrap();
    assert_eq!(in_flight(), 1, "a stream counts after its head");
    drop(stream);
    until(|| in_flight() == 0).await;

    // Callers that hang up before the head.
    let calls: Vec<_> = (0..64)
        .map(|_| {
            let mut echo = echo.clone();
            tokio::spawn(async move {
                echo.unary(EchoRequest::new("x").with_delay_ms(60_000))
                    .await
            })
        })
        .collect();
    until(|| fleet.server("a").in_flight() == 64).await;
    assert_eq!(in_flight(), 64);
    for call in &calls {
        call.abort();
    }
    until(|| in_flight() == 0).await;
    tokio::time::timeout(Duration::from_secs(5), call(&echo, "key"))
        .await
        .unwrap()
        .unwrap();
}

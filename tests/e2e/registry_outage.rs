//! The registry's death reaches no request.

use ringfence::discovery::{ErrorKind, Provenance, Update};
use ringfence_testkit::ScriptedDiscovery;
use ringfence_tests::{
    client::{balancer, call, echo, until},
    fleet::Fleet,
};

#[tokio::test]
async fn calls_go_on_while_the_registry_is_away_and_after_an_empty_answer() {
    let fleet = Fleet::start(["a", "b"]).await;
    let instances = || ["a", "b"].map(|id| fleet.instance(id).build().unwrap());
    let source = ScriptedDiscovery::new();
    source.push_instances(instances());
    let balancer = balancer(source.clone());
    let echo = echo(&balancer);
    let home = call(&echo, "key").await.unwrap();

    source.go_down(ErrorKind::Unavailable);
    until(|| balancer.status().watch.watch_error.is_some()).await;
    assert_eq!(call(&echo, "key").await.unwrap(), home);

    source.go_up();
    source.then_fetch(Update::instances(instances(), Provenance::live("scripted")));
    source.push_instances([]);
    until(|| balancer.status().watch.counters.held > 0).await;
    assert_eq!(
        call(&echo, "key").await.unwrap(),
        home,
        "an empty list is held, not obeyed"
    );
}

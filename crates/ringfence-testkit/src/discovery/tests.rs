use futures_util::{FutureExt, StreamExt};
use ringfence_core::Instance;
use ringfence_discovery::{Discovery, ErrorKind, Provenance, ServiceKey, Update};

use super::ScriptedDiscovery;

fn instance(id: &str) -> Instance {
    Instance::builder(id, "10.0.0.1:80").build().unwrap()
}

#[tokio::test]
async fn streams_say_what_they_are_told() {
    let registry = ScriptedDiscovery::new();
    let mut early = registry.watch(&ServiceKey::new("order"));
    assert_eq!(registry.watches(), 0, "lazy");
    assert!(early.next().now_or_never().is_none());

    registry.push_instances([instance("a")]);
    registry.fail(ErrorKind::Protocol);
    let update = early.next().await.unwrap().unwrap();
    assert_eq!(update.state.instance_count(), 1);
    let error = early.next().await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Protocol);

    let mut late = registry.watch(&ServiceKey::new("order"));
    assert!(
        late.next().await.unwrap().is_ok(),
        "begins with the current state"
    );
    assert_eq!((registry.watches(), registry.live_streams()), (2, 2));
    registry.end();
    assert!(early.next().await.is_none() && late.next().await.is_none());
    drop((early, late));
    assert_eq!(registry.live_streams(), 0);
}

#[tokio::test]
async fn an_outage_ends_streams_and_fails_fetches() {
    let (registry, service) = (ScriptedDiscovery::new(), ServiceKey::new("order"));
    registry.push_instances([instance("a")]);
    registry.go_down(ErrorKind::Unavailable);
    let said: Vec<_> = registry.watch(&service).collect().await;
    assert!(matches!(&said[..], [Err(error)] if error.kind() == ErrorKind::Unavailable));
    assert!(registry.fetch(&service).await.is_err());
    registry.go_up();
    assert!(registry.fetch(&service).await.is_ok());
}

#[tokio::test]
async fn fetches_follow_their_script() {
    let (registry, service) = (ScriptedDiscovery::new(), ServiceKey::new("order"));
    let scripted = Update::no_such_service(Provenance::live("scripted"));
    registry.then_fetch(scripted.clone());
    registry.then_hang_fetch();
    assert_eq!(registry.fetch(&service).await.unwrap(), scripted);

    let hanging = tokio::spawn(registry.fetch(&service));
    registry
        .until(|registry| registry.live_fetches() == 1)
        .await;
    hanging.abort();
    registry
        .until(|registry| registry.live_fetches() == 0)
        .await;
    assert_eq!(registry.fetches(), 2);
}

use std::time::Duration;

use ringfence_discovery::{Event, Supervisor};
use ringfence_testkit::registry::{Consul, RegistryServer as _};
use tokio::time::timeout;

use super::{put_order, source, supervise, until};

/// No new list comes for this long; other events may.
async fn keeps_its_list(supervisor: &mut Supervisor, time: Duration) {
    let _ = timeout(time, async {
        loop {
            let event = supervisor.next().await;
            let lost = matches!(event, Event::Snapshot(_) | Event::NoSuchService);
            assert!(!lost, "{event:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn killed_restarted_and_wiped_servers_take_nothing_away_and_are_followed_again() {
    let mut consul = Consul::start().await.expect("a server");
    put_order(&consul, "a").await;
    put_order(&consul, "b").await;
    let mut supervisor = supervise(source(&consul));
    until(&mut supervisor, &["a", "b"]).await;

    consul.kill().expect("running");
    keeps_its_list(&mut supervisor, Duration::from_secs(3)).await;
    consul.restart().await.expect("a server");
    put_order(&consul, "c").await;
    let took = until(&mut supervisor, &["a", "b", "c"]).await;
    assert!(took < Duration::from_secs(5), "{took:?} after a restart");

    consul.wipe().await.expect("a server");
    put_order(&consul, "d").await;
    put_order(&consul, "e").await;
    put_order(&consul, "f").await;
    let took = until(&mut supervisor, &["d", "e", "f"]).await;
    assert!(took < Duration::from_secs(5), "{took:?} after a wipe");
    // The low numbers are the order from now on.
    put_order(&consul, "g").await;
    let took = until(&mut supervisor, &["d", "e", "f", "g"]).await;
    assert!(took < Duration::from_secs(2), "{took:?}");
}

#[tokio::test]
async fn a_frozen_server_is_outlived() {
    let consul = Consul::start().await.expect("a server");
    put_order(&consul, "a").await;
    let mut supervisor = supervise(source(&consul));
    until(&mut supervisor, &["a"]).await;
    consul.pause().expect("running");
    keeps_its_list(&mut supervisor, Duration::from_secs(20)).await;
    assert!(supervisor.status().watch_error.is_some());
    consul.resume().expect("running");
    put_order(&consul, "b").await;
    let took = until(&mut supervisor, &["a", "b"]).await;
    assert!(took < Duration::from_secs(5), "{took:?}");
}

use std::time::Duration;

use ringfence_discovery::ErrorKind;
use ringfence_nacos::NacosDiscovery;
use ringfence_testkit::registry::RegistryServer as _;
use tokio::time::sleep;

use super::support::*;

const SOON: Duration = Duration::from_secs(5);

fn away(item: &Result<ringfence_discovery::Update, ringfence_discovery::DiscoveryError>) -> bool {
    item.as_ref()
        .is_err_and(|error| error.kind() == ErrorKind::Unavailable)
}

#[tokio::test]
async fn a_killed_server_is_an_error_and_back_within_five_seconds_after_its_restart() {
    let mut nacos = server().await;
    put(&nacos, 1, "").await;
    let source = NacosDiscovery::new(config(&nacos));
    let mut seen = Seen::watch(&source);
    seen.until_shape(SOON, [(1, 100)]).await;
    for outage in [1, 6, 20] {
        nacos.kill().expect("killed");
        seen.until(Duration::from_secs(20), away).await;
        sleep(Duration::from_secs(outage)).await;
        nacos.restart().await.expect("restarted");
        put(&nacos, 1, "&weight=3").await;
        let took = seen.until_shape(SOON, [(1, 300)]).await;
        eprintln!("after {outage} s of outage: {took:?}");
        // rnacos takes 1 for "not given" and keeps what it had.
        put(&nacos, 1, "&weight=1.0001").await;
        // Back to what the library knew before the outage, which it therefore announces to nobody.
        seen.until_shape(SOON, [(1, 100)]).await;
    }
}

#[tokio::test]
async fn a_frozen_server_is_an_error_and_back_within_five_seconds_after_it_goes_on() {
    let nacos = server().await;
    put(&nacos, 1, "").await;
    let source = NacosDiscovery::new(config(&nacos));
    let mut seen = Seen::watch(&source);
    seen.until_shape(SOON, [(1, 100)]).await;
    nacos.pause().expect("paused");
    seen.until(Duration::from_secs(20), away).await;
    sleep(Duration::from_secs(17)).await;
    nacos.resume().expect("resumed");
    put(&nacos, 1, "&weight=3").await;
    let took = seen.until_shape(SOON, [(1, 300)]).await;
    eprintln!("after a freeze: {took:?}");
}

#[tokio::test]
async fn a_wiped_server_shows_its_new_list() {
    let mut nacos = server().await;
    put(&nacos, 1, "").await;
    let source = NacosDiscovery::new(config(&nacos));
    let mut seen = Seen::watch(&source);
    seen.until_shape(SOON, [(1, 100)]).await;
    nacos.wipe().await.expect("wiped");
    put(&nacos, 2, "").await;
    seen.until_shape(SOON, [(2, 100)]).await;
}

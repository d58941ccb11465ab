//! The servers that tests kill do come back.

use ringfence_echo::{EchoClient, EchoRequest};
use ringfence_tests::fleet::Fleet;
use tonic::transport::{Channel, Endpoint};

async fn call(fleet: &Fleet, id: &str) -> String {
    let instance = fleet.instance(id).build().unwrap();
    let uri = format!("http://{}", instance.address());
    let channel: Channel = Endpoint::from_shared(uri).unwrap().connect_lazy();
    let response = EchoClient::new(channel).unary(EchoRequest::new("x")).await;
    response.unwrap().into_inner().instance
}

#[tokio::test]
async fn a_server_comes_back_where_it_was() {
    let mut fleet = Fleet::start(["a", "b"]).await;
    let address = fleet.server("a").address();
    assert_eq!(call(&fleet, "a").await, "a");
    fleet.kill("a").await;
    fleet.revive("a").await;
    assert_eq!(call(&fleet, "a").await, "a");
    assert_eq!(fleet.server("a").address(), address);
    assert_eq!(fleet.requests(), [("a", 1), ("b", 0)].into());
}

//! An HTTP client over three servers: hyper-util's pooled client in the layer, the key in a header, and a file as the
//! registry that is edited while requests flow.
//!
//! Run it with `cargo run --example hyper_client`. It exits with an error where a claim does not hold.
#![allow(clippy::print_stdout, reason = "examples talk to people")]

use std::{
    collections::BTreeMap, convert::Infallible, error::Error, net::SocketAddr, path::Path,
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderName, Request, Response};
use http_body_util::{BodyExt, Empty, Full};
use hyper::{server::conn::http1, service::service_fn};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::{TokioExecutor, TokioIo},
};
use ringfence::{
    Balancer, BalancerConfig, FileDiscovery, KeySource, Ringfence, RingfenceLayer, ServiceKey,
};
use tokio::{net::TcpListener, task::JoinSet};
use tower::{Service, ServiceExt};

type HttpClient = Ringfence<Client<HttpConnector, Empty<Bytes>>>;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut servers = JoinSet::new();
    let mut instances = BTreeMap::new();
    for id in ["cart-1", "cart-2", "cart-3"] {
        instances.insert(id, serve(id, &mut servers).await?);
    }
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("services.yaml");
    write_atomically(&file, &instances)?;

    let source = FileDiscovery::new(&file).with_poll_interval(Duration::from_millis(50))?;
    let config = BalancerConfig::default().with_update_merge_window(Duration::ZERO)?;
    let balancer = Balancer::builder(source, ServiceKey::new("cart"))
        .with_config(config)
        .build()?;
    let layer = RingfenceLayer::new(balancer.clone())
        .with_key(KeySource::header(HeaderName::from_static("x-user-id")));
    let mut client: HttpClient = layer.wrap(Client::builder(TokioExecutor::new()).build_http());

    let homes = round(&mut client).await?;
    println!("20 users on three servers: {homes:?}");
    ensure(
        homes == round(&mut client).await?,
        "every user stays on one server",
    )?;

    instances.remove("cart-2");
    write_atomically(&file, &instances)?;
    let gone = async {
        while balancer
            .view()
            .is_none_or(|view| view.snapshot().len() != 2)
        {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(5), gone).await?;
    let after = round(&mut client).await?;
    println!("cart-2 was taken out of the file: {after:?}");
    ensure(
        homes
            .iter()
            .all(|(user, home)| home == "cart-2" || after[user] == *home),
        "only the users of cart-2 moved",
    )?;
    ensure(
        after.values().all(|home| home != "cart-2"),
        "nobody uses cart-2 any more",
    )?;
    Ok(())
}

/// One request of each user; says which server answered whom.
async fn round(client: &mut HttpClient) -> Result<BTreeMap<String, String>, Box<dyn Error>> {
    let mut homes = BTreeMap::new();
    for user in (0..20).map(|i| format!("user-{i}")) {
        let request = Request::get("http://cart/items?page=1")
            .header("x-user-id", &user)
            .body(Empty::new())?;
        let response = client.ready().await?.call(request).await?;
        let body = response.into_body().collect().await?.to_bytes();
        homes.insert(user, String::from_utf8(body.to_vec())?);
    }
    Ok(homes)
}

/// A server that answers with its id; it ends with the set.
async fn serve(id: &'static str, servers: &mut JoinSet<()>) -> Result<SocketAddr, Box<dyn Error>> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    servers.spawn(async move {
        let mut connections = JoinSet::new();
        while let Ok((stream, _)) = listener.accept().await {
            let answer = service_fn(move |_| async move {
                Ok::<_, Infallible>(Response::new(Full::new(Bytes::from_static(id.as_bytes()))))
            });
            connections.spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), answer));
        }
    });
    Ok(address)
}

/// A new file in the place of the old one, so that no reader sees half of it.
fn write_atomically(file: &Path, instances: &BTreeMap<&str, SocketAddr>) -> std::io::Result<()> {
    let mut text = "services:\n  cart:\n".to_owned();
    for (id, address) in instances {
        text += &format!("    - id: {id}\n      address: \"{address}\"\n");
    }
    let new = file.with_extension("new");
    std::fs::write(&new, text)?;
    std::fs::rename(new, file)
}

fn ensure(holds: bool, claim: &str) -> Result<(), Box<dyn Error>> {
    if holds {
        println!("  [ok] {claim}");
        return Ok(());
    }
    Err(format!("does not hold: {claim}").into())
}

//! In the servers that programs have.

use std::net::SocketAddr;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Empty};
use hyper::server::conn::http1;
use hyper_util::{
    client::legacy::Client,
    rt::{TokioExecutor, TokioIo},
    service::TowerToHyperService,
};
use tokio::{net::TcpListener, task::JoinSet};

use crate::support::{plain, service};

async fn status_and_text(address: SocketAddr, path: &str) -> (u16, String) {
    let client: Client<_, Empty<Bytes>> = Client::builder(TokioExecutor::new()).build_http();
    let url = format!("http://{address}{path}").parse().expect("legal");
    let answer = client.get(url).await.expect("an answer");
    let status = answer.status().as_u16();
    let body = answer
        .into_body()
        .collect()
        .await
        .expect("whole")
        .to_bytes();
    (status, String::from_utf8(body.to_vec()).expect("text"))
}

/// tonic's router is one of axum too: `Routes::into_axum_router`.
#[tokio::test]
async fn in_the_routers_of_axum_and_tonic() {
    let (_registry, balancer) = plain(2).await;
    let axum = axum::Router::new().nest_service("/ops/ringfence", service(&balancer));
    let tonic = tonic::service::Routes::default().into_axum_router();
    let tonic = tonic.nest_service("/ops/ringfence", service(&balancer));
    for router in [axum, tonic] {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("it has one");
        let serving = tokio::spawn(serve(listener, router));
        for path in ["/ops/ringfence", "/ops/ringfence/"] {
            let (status, page) = status_and_text(address, path).await;
            assert_eq!(status, 200, "{path}");
            assert!(page.contains("<title>Ringfence</title>"));
        }
        let (status, text) = status_and_text(address, "/ops/ringfence/snapshot").await;
        assert_eq!(status, 200);
        assert!(text.contains("orders-1"));
        assert_eq!(
            status_and_text(address, "/ops/ringfence/nothing").await.0,
            404
        );
        serving.abort();
    }
}

/// As any server of hyper's does.
async fn serve(listener: TcpListener, router: axum::Router) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let service = TowerToHyperService::new(router.clone());
        connections.spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}

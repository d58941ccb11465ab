//! `/healthz` over the life of a balancer.

use http::StatusCode;
use ringfence_balancer::Balancer;
use ringfence_discovery::MemoryRegistry;

use crate::support::{SERVICE, get, plain, service};

#[tokio::test]
async fn it_is_well_while_it_serves() {
    let (_registry, balancer) = plain(1).await;
    let answer = get(&service(&balancer), "/healthz").await;
    assert_eq!((answer.status, &*answer.text), (StatusCode::OK, "ok\n"));
    assert_eq!(answer.header("content-type"), "text/plain; charset=utf-8");
}

#[tokio::test]
async fn before_the_first_view_it_is_not() {
    let balancer = Balancer::builder(MemoryRegistry::new(), SERVICE)
        .build()
        .expect("legal");
    let service = service(&balancer);
    // The task has not run yet.
    let answer = get(&service, "/healthz").await;
    assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(
        get(&service, "/state").await.json()["health"]["phase"],
        "starting"
    );
    for path in ["/ring", "/pools", "/explain?key=a"] {
        assert_eq!(
            get(&service, path).await.status,
            StatusCode::SERVICE_UNAVAILABLE,
            "{path}"
        );
    }
    assert_eq!(
        get(&service, "/snapshot").await.json()["instances"],
        serde_json::json!([])
    );
    let _ = balancer.ready().await;
    let answer = get(&service, "/healthz").await;
    assert!(
        answer
            .text
            .contains("orders: the registry does not know the service"),
        "{}",
        answer.text
    );
}

#[tokio::test]
async fn a_task_that_is_gone_is_told() {
    let (_registry, balancer) = plain(2).await;
    let service = service(&balancer);
    balancer.shutdown().await;
    let answer = get(&service, "/healthz").await;
    assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(
        answer.text.contains("orders: its task has ended"),
        "{}",
        answer.text
    );
    assert_eq!(
        get(&service, "/state").await.json()["health"]["phase"],
        "task_gone"
    );
}

#[tokio::test]
async fn the_page_keeps_no_balancer() {
    let (_registry, balancer) = plain(2).await;
    let service = service(&balancer);
    let weak = balancer.downgrade();
    get(&service, "/state").await;
    drop(balancer);
    assert!(weak.upgrade().is_none());
    let state = get(&service, "/state").await;
    assert_eq!(
        (state.status, &state.json()["health"]["phase"]),
        (StatusCode::OK, &"dropped".into())
    );
    assert_eq!(get(&service, "/snapshot").await.status, StatusCode::GONE);
    assert_eq!(
        get(&service, "/healthz").await.status,
        StatusCode::SERVICE_UNAVAILABLE
    );
}

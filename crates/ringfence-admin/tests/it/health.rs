//! `/healthz` over the life of a balancer.

use http::StatusCode;
use ringfence_admin::Admin;
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
async fn of_two_balancers_of_a_service_that_which_is_left_is_told() {
    let (_of_first, first) = plain(3).await;
    let (_of_second, second) = plain(5).await;
    let service = Admin::new()
        .with_balancer(&first)
        .with_balancer(&second)
        .service();
    let count = async |path| get(&service, path).await.json()["counts"]["instances"].clone();
    assert_eq!(count("/snapshot").await, 3);
    drop(first);
    assert_eq!(count("/snapshot").await, 5);
    assert_eq!(count("/snapshot?service=orders").await, 5);
    let state = get(&service, "/state").await.json();
    assert_eq!(state["health"]["phase"], "serving");
    let healthz = get(&service, "/healthz").await;
    assert_eq!((healthz.status, &*healthz.text), (StatusCode::OK, "ok\n"));
    // Once nobody serves it, that is told.
    drop(second);
    let healthz = get(&service, "/healthz").await;
    assert_eq!(healthz.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(get(&service, "/snapshot").await.status, StatusCode::GONE);
}

#[tokio::test]
async fn the_page_keeps_no_ring() {
    let (_registry, balancer) = plain(50).await;
    let service = service(&balancer);
    get(&service, "/ring").await;
    let ring = std::sync::Arc::downgrade(balancer.view().expect("one").whole_ring());
    drop(balancer);
    for _ in 0..500 {
        if ring.upgrade().is_none() {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("the ring is still there");
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

//! Paths, methods and headers.

use http::{Method, Request, StatusCode};
use ringfence_admin::Admin;

use crate::support::{ask, fleet, get, service};

const PATHS: [&str; 13] = [
    "/",
    "/state",
    "/services",
    "/snapshot",
    "/ring",
    "/dump",
    "/pools",
    "/observe",
    "/explain?key=a",
    "/decisions",
    "/changes",
    "/hot-keys",
    "/healthz",
];

#[tokio::test]
async fn every_answer_has_the_headers_of_safety() {
    let (_registry, balancer) = fleet().await;
    let service = service(&balancer);
    for path in PATHS.into_iter().chain(["/nothing", "/metrics"]) {
        let answer = get(&service, path).await;
        assert_eq!(answer.header("cache-control"), "no-store", "{path}");
        assert_eq!(answer.header("x-content-type-options"), "nosniff", "{path}");
        assert_eq!(answer.header("x-frame-options"), "DENY", "{path}");
        assert_eq!(answer.header("referrer-policy"), "no-referrer", "{path}");
        assert!(
            answer
                .header("content-security-policy")
                .contains("default-src 'none'"),
            "{path}"
        );
        assert!(
            !answer.header("content-security-policy").contains("unsafe"),
            "{path}"
        );
        assert!(
            !answer
                .headers
                .keys()
                .any(|name| name.as_str().starts_with("access-control")),
            "{path}"
        );
        assert_eq!(
            answer.header("content-length"),
            answer.text.len().to_string(),
            "{path}"
        );
    }
    for path in PATHS {
        assert_eq!(get(&service, path).await.status, StatusCode::OK, "{path}");
    }
}

#[tokio::test]
async fn only_reading_is_allowed() {
    let (_registry, balancer) = fleet().await;
    let service = service(&balancer);
    for path in PATHS {
        for method in [
            Method::POST,
            Method::PUT,
            Method::DELETE,
            Method::PATCH,
            Method::OPTIONS,
            Method::TRACE,
        ] {
            let request = Request::builder()
                .method(method.clone())
                .uri(path)
                .body(())
                .expect("legal");
            let answer = ask(&service, request).await;
            assert_eq!(
                answer.status,
                StatusCode::METHOD_NOT_ALLOWED,
                "{method} {path}"
            );
            assert_eq!(answer.header("allow"), "GET, HEAD");
        }
        let request = Request::builder()
            .method(Method::HEAD)
            .uri(path)
            .body(())
            .expect("legal");
        let head = ask(&service, request).await;
        assert_eq!(head.status, StatusCode::OK, "{path}");
        assert_eq!(head.text, "", "{path}");
        assert_eq!(
            head.header("content-length"),
            get(&service, path).await.text.len().to_string(),
            "{path}"
        );
    }
}

#[tokio::test]
async fn other_paths_are_not_found() {
    let (_registry, balancer) = fleet().await;
    let service = service(&balancer);
    for path in [
        "/x",
        "/snapshot/",
        "//",
        "/../state",
        "/%73tate",
        "/state%2f",
        "/Snapshot",
        "/explain/key",
    ] {
        assert_eq!(
            get(&service, path).await.status,
            StatusCode::NOT_FOUND,
            "{path}"
        );
    }
}

#[tokio::test]
async fn a_prefix_is_taken_off() {
    let (_registry, balancer) = fleet().await;
    let service = Admin::new()
        .with_balancer(&balancer)
        .with_prefix("ops/ringfence/")
        .service();
    for path in ["/ops/ringfence", "/ops/ringfence/", "/ops/ringfence/state"] {
        assert_eq!(get(&service, path).await.status, StatusCode::OK, "{path}");
    }
    for path in ["/", "/state", "/ops/ringfencestate", "/ops"] {
        assert_eq!(
            get(&service, path).await.status,
            StatusCode::NOT_FOUND,
            "{path}"
        );
    }
}

#[tokio::test]
async fn metrics_are_what_they_are_given() {
    let (_registry, balancer) = fleet().await;
    let without = get(&service(&balancer), "/metrics").await;
    assert_eq!(without.status, StatusCode::NOT_FOUND);
    assert!(
        without.json()["hint"]
            .as_str()
            .expect("text")
            .contains("with_metrics")
    );
    let text = "# TYPE up gauge\nup 1\n";
    let with = Admin::new()
        .with_balancer(&balancer)
        .with_metrics(move || text.to_owned())
        .service();
    let answer = get(&with, "/metrics").await;
    assert_eq!((answer.status, &*answer.text), (StatusCode::OK, text));
    assert_eq!(
        answer.header("content-type"),
        "text/plain; version=0.0.4; charset=utf-8"
    );
}

#[tokio::test]
async fn one_of_several_services_is_asked_for_by_name() {
    let (registry, balancer) = fleet().await;
    let other = ringfence_balancer::Balancer::builder(registry, "other")
        .build()
        .expect("legal");
    let service = Admin::new()
        .with_balancer(&balancer)
        .with_balancer(&other)
        .service();
    assert_eq!(get(&service, "/snapshot").await.json()["service"], "orders");
    assert_eq!(
        get(&service, "/snapshot?service=other").await.json()["service"],
        "other"
    );
    assert_eq!(
        get(&service, "/snapshot?service=none").await.status,
        StatusCode::NOT_FOUND
    );
    assert_eq!(
        get(&service, "/ring?service=other").await.status,
        StatusCode::SERVICE_UNAVAILABLE
    );
    let services = get(&service, "/services").await.json();
    let names: Vec<_> = services["services"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|of| of["service"].as_str())
        .collect();
    assert_eq!(names, [Some("orders"), Some("other")]);
    assert_eq!(
        get(&Admin::new().service(), "/snapshot").await.status,
        StatusCode::NOT_FOUND
    );
}

#[tokio::test]
async fn a_state_that_is_known_is_not_sent_again() {
    let (_registry, balancer) = fleet().await;
    let service = service(&balancer);
    let first = get(&service, "/state").await;
    let tag = first.header("etag").to_owned();
    let again = |tag: String| {
        Request::get("/state")
            .header("if-none-match", tag)
            .body(())
            .expect("legal")
    };
    for known in [tag.clone(), format!("W/{tag}"), format!("\"other\", {tag}")] {
        let answer = ask(&service, again(known)).await;
        assert_eq!(
            (answer.status, &*answer.text),
            (StatusCode::NOT_MODIFIED, "")
        );
        assert_eq!(answer.header("etag"), tag);
    }
    // A pick counts, so the state is another one.
    balancer
        .pick(&ringfence_balancer::PickRequest::new().with_key("a"))
        .expect("there is one");
    let answer = ask(&service, again(tag.clone())).await;
    assert_eq!(answer.status, StatusCode::OK);
    assert_ne!(answer.header("etag"), tag);
}

/// Whoever misspells a parameter must not take the answer for one that heeds it.
#[tokio::test]
async fn a_parameter_that_has_no_effect_is_refused() {
    let (_registry, balancer) = fleet().await;
    let service = service(&balancer);
    for (query, told) in [
        ("/explain?keys=alice", "`keys`, did you mean `key`?"),
        (
            "/explain?key=a&Header=x:y",
            "`Header`, did you mean `header`?",
        ),
        ("/explain?key=a&zone=az-1", "`zone`, there is: service, key"),
        ("/state?servce=orders", "`servce`, did you mean `service`?"),
        ("/snapshot?key=a", "`key`, there is: service"),
        ("/dump?format=yaml", "`format`, there is: service"),
        ("/services?service=orders", "`service`, nor any other"),
        ("/?servise=orders", "`servise`, did you mean `service`?"),
    ] {
        let answer = get(&service, query).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{query}");
        let error = answer.json()["error"].as_str().expect("text").to_owned();
        assert!(error.contains(told), "{query}: {error}");
    }
    // A name is told as text of a bounded length.
    let long = format!("/state?{}=1", "x".repeat(5_000));
    let refused = get(&service, &long).await;
    assert!(refused.status == StatusCode::BAD_REQUEST && refused.text.len() < 1_000);
}

/// Load balancers and scrapers put in what they need themselves, such as a number against caches.
#[tokio::test]
async fn probes_and_scrapes_may_have_any_parameter() {
    let (_registry, balancer) = fleet().await;
    let admin = Admin::new().with_balancer(&balancer);
    let service = admin.with_metrics(|| "up 1\n".to_owned()).service();
    let many = "a=1&".repeat(1_000);
    for path in ["/healthz", "/metrics"] {
        let plain = get(&service, path).await;
        assert_eq!(plain.status, StatusCode::OK);
        for query in [
            "service=orders",
            "name[]=ringfence_up",
            "_=17",
            "%ff",
            &many,
        ] {
            let answer = get(&service, &format!("{path}?{query}")).await;
            assert_eq!(
                (answer.status, &answer.text),
                (plain.status, &plain.text),
                "{path}"
            );
        }
    }
}

//! Explaining requests that were never sent.

use http::StatusCode;
use ringfence_balancer::PickRequest;

use crate::support::{encoded, fleet, get, plain, service};

#[tokio::test]
async fn an_explanation_is_the_decision_of_a_pick() {
    let (_registry, balancer) = plain(7).await;
    let service = service(&balancer);
    crate::support::fail_owner(&balancer, "key-3");
    for n in 0..300 {
        // Bytes of all kinds, so that decoding matters.
        let key = format!(
            "key-{n}+& %/{}",
            char::from_u32(0x20 + n * 7).unwrap_or('x')
        );
        let told = get(&service, &format!("/explain?key={}", encoded(&key)))
            .await
            .json();
        let decision = balancer
            .pick(&PickRequest::new().with_key(&key))
            .expect("there is one");
        let picked: Vec<_> = decision
            .candidates()
            .map(|candidate| candidate.instance().id().to_string())
            .collect();
        assert_eq!(
            told["explanation"]["candidates"],
            serde_json::json!(picked),
            "{key}"
        );
        assert!(told["text"].as_str().expect("text").contains("tried"));
    }
}

#[tokio::test]
async fn a_policy_is_asked_with_the_whole_request() {
    let (_registry, balancer) = fleet().await;
    let service = service(&balancer);
    let told = get(
        &service,
        "/explain?path=/cart/7%3Fx%3D1&header=x-user:%20alice&method=POST",
    )
    .await
    .json();
    let told = &told["explanation"];
    assert_eq!(
        (&told["rule"], &told["key"]["raw"]),
        (&"carts".into(), &"alice".into()),
        "{told}"
    );
    let told = get(&service, "/explain?key=alice&path=/other").await.json();
    assert_eq!(told["explanation"]["rule"], "default");
    assert_eq!(told["hint"], serde_json::Value::Null);
}

#[tokio::test]
async fn a_key_that_is_not_looked_at_is_told() {
    let (_registry, balancer) = fleet().await;
    let told = get(&service(&balancer), "/explain?key=alice&path=/cart")
        .await
        .json();
    let hint = told["hint"].as_str().expect("there is one");
    assert!(hint.contains("carts") && hint.contains("x-user"), "{hint}");
}

#[tokio::test]
async fn without_a_key_there_is_no_owner() {
    let (_registry, balancer) = plain(3).await;
    let told = get(&service(&balancer), "/explain").await.json();
    assert_eq!(told["explanation"]["candidates"], serde_json::json!([]));
    assert_eq!(told["explanation"]["key"], serde_json::Value::Null);
}

#[tokio::test]
async fn what_is_no_request_is_refused() {
    let (_registry, balancer) = plain(1).await;
    let service = service(&balancer);
    for (query, told) in [
        ("method=GE%20T", "method"),
        ("path=no-slash", "path"),
        ("path=%00", "path"),
        ("header=nothing", "header"),
        ("header=a%20b:1", "header"),
        ("header=a:x%0d%0ab:y", "header"),
        ("tag=nothing", "tag"),
        ("claim=nothing", "claim"),
        ("peer=somewhere", "peer"),
        ("key=a&key=b", "`key` is there twice"),
        ("path=/a&path=/a", "`path` is there twice"),
        ("service=orders&service=carts", "`service` is there twice"),
        ("tag=version:a&tag=version:b", "`tag` has `version` twice"),
        ("claim=sub:a&claim=sub:b", "`claim` has `sub` twice"),
    ] {
        let answer = get(&service, &format!("/explain?{query}")).await;
        assert_eq!(
            answer.status,
            StatusCode::BAD_REQUEST,
            "{query}: {}",
            answer.text
        );
        let error = answer.json()["error"].as_str().expect("text").to_owned();
        assert!(error.contains(told), "{query}: {error}");
    }
}

#[tokio::test]
async fn no_query_breaks_it() {
    let (_registry, balancer) = fleet().await;
    let service = service(&balancer);
    for query in [
        "key=%ff%fe",
        "key=&key=&key=",
        "key=%",
        "%=%",
        "key=a&header=:",
        "header=%E2%82:x",
        "key=a&tag=:",
        "path=%2F%2F%2F&method=",
        "claim=a:b:c&tag=version:&peer=::1",
        "service=orders&service=none",
    ] {
        let answer = get(&service, &format!("/explain?{query}")).await;
        assert!(
            answer.status == StatusCode::OK || answer.status == StatusCode::BAD_REQUEST,
            "{query}: {}",
            answer.status
        );
        answer.json();
    }
    let long = "x".repeat(5_000);
    let told = get(&service, &format!("/explain?path=/other&key={long}"))
        .await
        .json();
    assert_eq!(told["explanation"]["sources"][0]["outcome"], "too long");
    let many = "header=a:b&".repeat(5_000);
    let answer = get(&service, &format!("/explain?{many}")).await;
    assert_eq!(answer.status, StatusCode::BAD_REQUEST, "not silently cut");
    assert!(answer.text.contains("more than 128"), "{}", answer.text);
}

//! Version 1 of the form of each document. Fields may be added to it; a change of those that are there breaks programs that read
//! them.
//!
//! `RINGFENCE_BLESS=1` writes the files anew.

use std::{fs, path::Path};

use ringfence_balancer::{CallOutcome, PickRequest};
use ringfence_core::Instance;
use serde_json::Value;

use crate::support::{SERVICE, fleet, get, service};

/// Fields whose values are those of a clock.
const VARYING: [&str; 4] = ["at_unix_ms", "build_ms", "delay_ms", "took_ms"];

fn steady(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                if VARYING.contains(&name.as_str()) && value.is_number() {
                    *value = Value::from("varies");
                } else {
                    steady(value);
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(steady),
        Value::Number(number) if number.is_f64() => {
            let rounded = format!("{:.6}", number.as_f64().expect("it is one"));
            *value = Value::from(rounded);
        }
        _ => {}
    }
}

#[tokio::test]
async fn each_document_has_its_form() {
    let (registry, balancer) = fleet().await;
    let service = service(&balancer);
    get(&service, "/decisions").await;
    registry.register(
        SERVICE,
        Instance::builder("stable-4", "10.0.0.6:80")
            .build()
            .expect("legal"),
    );
    while balancer.status().instances < 6 {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    let decision = balancer
        .pick(&PickRequest::new().with_key("alice"))
        .expect("there is one");
    // Of so many some are looked at for hot keys.
    for _ in 1..64 {
        balancer
            .pick(&PickRequest::new().with_key("alice"))
            .expect("there is one");
    }
    let mut call = balancer.observe_call().expect("they are looked at");
    call.decided(decision.choice(), None);
    call.key_source("header x-user");
    call.attempt();
    call.end(CallOutcome::Success, Some(decision.instance().id()));
    for (name, path) in [
        ("services", "/services"),
        ("snapshot", "/snapshot"),
        ("ring", "/ring"),
        ("pools", "/pools"),
        ("observe", "/observe"),
        ("explain", "/explain?path=/cart&header=x-user:alice"),
        ("decisions", "/decisions"),
        ("changes", "/changes"),
        ("hot-keys", "/hot-keys"),
        ("state", "/state"),
        ("error", "/nothing"),
    ] {
        let mut document = get(&service, path).await.json();
        assert_eq!(document["ringfence"], 1, "{path}");
        steady(&mut document);
        if let Some(slices) = document.get_mut("slices").and_then(Value::as_array_mut) {
            assert_eq!(slices.len(), 720);
            slices.truncate(6);
        }
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/{name}.json"));
        let text = format!("{document:#}\n");
        if std::env::var_os("RINGFENCE_BLESS").is_some() {
            fs::write(&file, &text).expect("it can be written");
        }
        let golden = fs::read_to_string(&file).expect("it is there");
        assert!(
            text == golden,
            "{path} differs from {name}.json, it is:\n{text}"
        );
    }
}

//! What is asked, and what is not read from the environment.

use std::{
    process::Command,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use ringfence_consul::{
    Consistency, ConsulConfig, ConsulConfigError, ConsulDiscovery, ConsulTls, ConsulToken,
    KeyNamespace,
};
use ringfence_discovery::{Discovery as _, ServiceKey};
use ringfence_testkit::{Backend, Behaviour};

use crate::fake::{answer, at, config, consul, decode, key, names, next, query, values};

#[tokio::test]
async fn a_plain_question_has_nothing_extra() {
    let backend = Backend::start().await.expect("a port");
    backend.always(answer("7", &["a"]));
    let mut watch = consul(config(&backend)).watch(&key());
    assert_eq!(backend.connections(), 0, "lazy");
    next(&mut watch).await.expect("a list");
    next(&mut watch).await.expect("a list");
    let requests = backend.requests();
    assert_eq!(requests[0].uri.path(), "/v1/health/service/order");
    assert_eq!(names(&requests[0]), [].into());
    assert_eq!(requests[0].header("x-consul-token"), None);
    assert_eq!(names(&requests[1]), ["index", "wait"].into());
    let wait = query(&requests[1], "wait").expect("there");
    let wait: u64 = wait.trim_end_matches("ms").parse().expect("milliseconds");
    assert!((900..=1000).contains(&wait), "jittered: {wait}");
}

#[tokio::test]
async fn every_setting_arrives_unchanged() {
    let backend = Backend::start().await.expect("a port");
    backend.always(answer("7", &["a"]));
    let filter = r#"Service.Meta.tier == "we&b" and "ü" in Service.Tags"#;
    let full = config(&backend)
        .with_datacenter("dc 2")
        .with_namespace("n&s")
        .with_partition("p=1")
        .with_filter(filter)
        .with_required_tag("a=b")
        .with_required_tag("c d")
        .with_consistency(Consistency::Consistent);
    consul(full.clone()).fetch(&key()).await.expect("a list");
    let request = &backend.requests()[0];
    for (name, value) in [
        ("dc", "dc 2"),
        ("ns", "n&s"),
        ("partition", "p=1"),
        ("filter", filter),
        ("consistent", ""),
    ] {
        assert_eq!(query(request, name).as_deref(), Some(value), "{name}");
    }
    assert_eq!(values(request, "tag"), ["a=b", "c d"]);
    let namespaced = ServiceKey::new("order").with_namespace("other");
    consul(full.clone())
        .fetch(&namespaced)
        .await
        .expect("a list");
    let by_namespace = full.with_key_namespace(KeyNamespace::Namespace);
    consul(by_namespace)
        .fetch(&namespaced)
        .await
        .expect("a list");
    let requests = backend.requests();
    for (at, dc, ns) in [(1, "other", "n&s"), (2, "dc 2", "other")] {
        assert_eq!(values(&requests[at], "dc"), [dc]);
        assert_eq!(values(&requests[at], "ns"), [ns]);
    }
}

#[tokio::test]
async fn names_are_encoded_exactly_once_below_any_base_path() {
    let backend = Backend::start().await.expect("a port");
    backend.always(answer("7", &["a"]));
    for name in [
        "order",
        "a b",
        "ü",
        "x%2Fy",
        "q?x=1",
        "h#f",
        "a/b",
        "a+b",
        "a;b,c",
        "%",
        "..a",
        "a\\b",
        "[x]",
        "~",
        "\"<>`{}|^",
    ] {
        for base in ["", "/", "/gate/consul", "/gate/consul/"] {
            let source = consul(at(format!("{}{base}", backend.uri())));
            source.fetch(&ServiceKey::new(name)).await.expect(name);
            let requests = backend.requests();
            let uri = &requests.last().expect("one").uri;
            let path = uri.path().replace('+', "%2B");
            let expected = format!("{}/v1/health/service/{name}", base.trim_end_matches('/'));
            assert_eq!(decode(&path), expected);
            assert_eq!(uri.query(), None, "{name}");
        }
    }
}

#[tokio::test]
async fn a_token_is_asked_for_before_every_request() {
    let backend = Backend::start().await.expect("a port");
    backend.always(answer("7", &["a"]));
    let count = AtomicU64::new(0);
    let token = ConsulToken::from_fn(move || {
        Ok(format!(
            " token-{}\n",
            count.fetch_add(1, Ordering::Relaxed)
        ))
    });
    let source = consul(config(&backend).with_token(token));
    let mut watch = source.watch(&key());
    next(&mut watch).await.expect("a list");
    next(&mut watch).await.expect("a list");
    let requests = backend.requests();
    let sent: Vec<_> = requests
        .iter()
        .map(|r| r.header("x-consul-token"))
        .collect();
    assert_eq!(sent, [Some("token-0"), Some("token-1")]);
    let failing = ConsulToken::from_fn(|| Err("the vault is sealed".into()));
    let source = consul(config(&backend).with_token(failing));
    let error = source.fetch(&key()).await.expect_err("no token");
    assert_eq!(error.kind(), ringfence_discovery::ErrorKind::Unauthorized);
    assert_eq!(backend.request_count(), 2, "nothing goes out without it");
}

#[tokio::test]
async fn more_watches_than_allowed_fail_clearly_and_leave_reads_alone() {
    let backend = Backend::start().await.expect("a port");
    backend.always(answer("7", &["a"]));
    let source = consul(config(&backend).with_max_watches(1));
    let mut first = source.watch(&key());
    next(&mut first).await.expect("a list");
    let other = ServiceKey::new("cart");
    let error = next(&mut source.watch(&other)).await.expect_err("too many");
    assert!(error.to_string().contains("with_max_watches"), "{error}");
    source.fetch(&other).await.expect("a list");
    next(&mut source.watch(&key()))
        .await
        .expect("no further query");
    drop(first);
    next(&mut source.watch(&other)).await.expect("free again");
}

#[tokio::test]
async fn illegal_settings_are_named() {
    let base = || ConsulConfig::new("http://127.0.0.1:8500");
    let day = Duration::from_secs(86_400);
    for (config, word) in [
        (ConsulConfig::new("127.0.0.1:8500"), "address"),
        (base().with_wait(Duration::ZERO), "wait"),
        (base().with_wait(day), "wait"),
        (base().with_slack(Duration::ZERO), "slack"),
        (
            base().with_connect_timeout(Duration::ZERO),
            "connect_timeout",
        ),
        (base().with_poll_interval(day), "poll_interval"),
        (base().with_max_body(0), "max_body"),
        (base().with_max_watches(0), "max_watches"),
        (base().with_token(ConsulToken::value("")), "token"),
        (base().with_tls(ConsulTls::default()), "https"),
    ] {
        let error = ConsulDiscovery::new(config).expect_err(word);
        assert!(error.to_string().contains(word), "{error}");
    }
    let token = base().with_token(ConsulToken::value("s3cr3t\n2"));
    let error: ConsulConfigError = ConsulDiscovery::new(token).expect_err("a line break");
    assert!(!format!("{error} {error:?}").contains("s3cr3t"));
}

/// Run by [`nothing_is_read_from_the_environment`], with an environment.
#[tokio::test]
#[ignore = "needs the environment that another test makes"]
async fn with_an_environment() {
    let backend = Backend::start().await.expect("a port");
    backend.always(answer("7", &["a"]));
    consul(config(&backend))
        .fetch(&key())
        .await
        .expect("a list");
    assert_eq!(backend.requests()[0].header("x-consul-token"), None);
    assert_eq!(backend.request_count(), 1);
}

#[tokio::test]
async fn nothing_is_read_from_the_environment() {
    let elsewhere = Backend::start().await.expect("a port");
    elsewhere.always(Behaviour::Hang);
    let uri = elsewhere.uri();
    let output = tokio::task::spawn_blocking(move || {
        let mut command = Command::new(std::env::current_exe().expect("this test"));
        for name in [
            "http_proxy",
            "HTTP_PROXY",
            "https_proxy",
            "ALL_PROXY",
            "all_proxy",
        ] {
            command.env(name, &uri);
        }
        command
            .env("CONSUL_HTTP_ADDR", uri.trim_start_matches("http://"))
            .env("CONSUL_HTTP_TOKEN", "from-the-environment")
            .env("CONSUL_CACERT", "/nonexistent")
            .env("CONSUL_NAMESPACE", "x")
            .args([
                "--exact",
                "--include-ignored",
                "requests::with_an_environment",
            ])
            .output()
    });
    let output = output.await.expect("no panic").expect("started");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{text}"
    );
    assert_eq!(elsewhere.connections(), 0);
}

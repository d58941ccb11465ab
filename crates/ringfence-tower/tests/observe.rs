//! Requests that the policy does not decide, and what is noted of them.
#![allow(clippy::panic, clippy::unwrap_used, reason = "all of it is tests")]

mod common;

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use common::{Cluster, Once as _, config, policy};
use http::{HeaderValue, Request, Uri};
use http_body_util::{BodyExt as _, Empty, Full};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use ringfence_balancer::{Balancer, BalancerBuilder};
use ringfence_core::Instance;
use ringfence_policy::{
    AuditDecision, AuditQueue, AuditReason, KeyFinding, PolicyContext, PolicyDocument, TagAuthority,
};
use ringfence_testkit::{ProbeService, ScriptedDiscovery};
use ringfence_tower::{Baseline, ErrorKind, RequestTags, RetryPolicy, Ringfence, RoutingKey};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

/// All that went over the wire, by server.
type Wire = Arc<Mutex<Vec<(usize, Vec<u8>)>>>;

const BODY: &str = "0123456789";

/// Answers each request that ends with [`BODY`], and keeps its bytes.
async fn server(number: usize, wire: Wire) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let wire = Arc::clone(&wire);
            tokio::spawn(async move {
                let mut request = Vec::new();
                let mut chunk = [0; 4_096];
                while let Ok(read @ 1..) = stream.read(&mut chunk).await {
                    request.extend_from_slice(&chunk[..read]);
                    if request.ends_with(BODY.as_bytes()) {
                        wire.lock()
                            .unwrap()
                            .push((number, std::mem::take(&mut request)));
                        let answer = format!(
                            "HTTP/1.1 200 OK\r\nx-instance: i-{number}\r\ncontent-length: 2\r\n\r\nok"
                        );
                        stream.write_all(answer.as_bytes()).await.unwrap();
                    }
                }
            });
        }
    });
    address
}

const OBSERVE: &str = "
ringfence: 1
mode: observe
tenants: { default: { mode: shuffle_shard, size: 1 } }
rules:
  - name: all
    tags_from_headers: { x-tenant: { tag: tenant }, x-lane: { tag: lane } }
    key: [{ header: x-user }]
    limits: { max_attempts: 1 }
";

/// Requests to the servers by turns, with everything that the layer would touch if it decided.
fn requests(servers: &[SocketAddr]) -> impl Iterator<Item = Request<Full<Bytes>>> {
    (0..60).map(|n: usize| {
        let server = servers[n % servers.len()];
        let uri: Uri = format!("http://{server}/a//b%2f?n={n}&x=%C3")
            .parse()
            .unwrap();
        let mut request = Request::post(uri).body(Full::from(BODY)).unwrap();
        let headers = request.headers_mut();
        headers.insert("host", "shop.example".parse().unwrap());
        headers.insert("x-user", format!("user-{}", n % 7).parse().unwrap());
        headers.append("x-tenant", "acme".parse().unwrap());
        headers.append("x-tenant", HeaderValue::from_bytes(b"\xff\xe4").unwrap());
        headers.insert("x-lane", "blue".parse().unwrap());
        headers.insert("grpc-timeout", "30S".parse().unwrap());
        let extensions = request.extensions_mut();
        extensions.insert(RoutingKey::from("k"));
        extensions.insert(RequestTags::new().with_tenant("acme"));
        request
    })
}

/// Targets and bytes are those without the layer, in each mode that leaves requests alone.
#[tokio::test]
async fn in_observe_mode_nothing_on_the_wire_differs() {
    let wire = Wire::default();
    let mut servers = Vec::new();
    for number in 0..3 {
        servers.push(server(number, Arc::clone(&wire)).await);
    }
    let instances = servers.iter().enumerate().map(|(number, address)| {
        let id = format!("i-{number}");
        Instance::builder(id, address.to_string()).build().unwrap()
    });
    let taken = || std::mem::take(&mut *wire.lock().unwrap());
    let http = Client::builder(TokioExecutor::new()).build_http();
    for request in requests(&servers) {
        http.request(request).await.unwrap();
    }
    let without = taken();
    assert_eq!(without.len(), 60);

    let cluster = Cluster::with_policy(instances, OBSERVE).await;
    let untouched = Baseline::untouched().with_instance_of(|head| {
        let told = head.headers.get("x-instance")?.to_str().ok()?;
        Some(told.to_owned())
    });
    let client = cluster.layer().with_baseline(untouched).wrap(http.clone());
    let send_all = async || {
        for request in requests(&servers) {
            let response = client.clone().once(request).await.unwrap();
            let body = response.into_body().collect().await.unwrap();
            assert_eq!(body.to_bytes(), "ok");
        }
        taken()
    };
    assert!(send_all().await == without, "observe");
    let report = cluster.balancer.observe_report();
    assert_eq!(
        (report.requests, report.compared, report.unknown),
        (60, 60, 0)
    );
    assert_eq!(
        report
            .shares
            .values()
            .map(|share| share.actual)
            .sum::<u64>(),
        60
    );
    assert_eq!(report.shares["i-1"].actual, 20);
    assert!(report.agreed < 60, "seven keys do not take turns: {report}");
    assert_eq!(report.suggested_hits.asked, 60);
    assert_eq!(
        report.suggested_hits.hits,
        60 - 7,
        "each key is cold once: {report}"
    );
    assert_eq!(cluster.balancer.status().counters.picks, 0);

    // The kill switch, by hand and by document: nothing is computed either.
    cluster.balancer.switch_policy(false);
    assert!(send_all().await == without, "switched off");
    cluster.balancer.switch_policy(true);
    let epoch = cluster.balancer.status().epoch;
    let off = OBSERVE.replace("observe", "off");
    cluster.balancer.set_policy(policy(&off));
    cluster
        .until(|balancer| balancer.status().epoch > epoch)
        .await;
    assert!(send_all().await == without, "mode off");
    assert_eq!(cluster.balancer.observe_report().requests, 60);
}

fn instances(versions: &[(&str, usize)]) -> Vec<Instance> {
    let each = versions.iter().flat_map(|(version, count)| {
        (0..*count).map(move |n| {
            let id = format!("{version}-{n}");
            let instance = Instance::builder(&id, format!("{id}:80")).version(*version);
            instance.build().unwrap()
        })
    });
    each.collect()
}

fn get(path: &str, user: usize) -> Request<Empty<Bytes>> {
    let request = Request::get(path).header("x-user", format!("user-{user}"));
    request.body(Empty::new()).unwrap()
}

async fn authority(
    client: &Ringfence<ProbeService>,
    probe: &ProbeService,
    path: &str,
    user: usize,
) -> String {
    client.clone().once(get(path, user)).await.unwrap();
    let last = probe.calls().pop().unwrap();
    last.uri.authority().unwrap().to_string()
}

const BLUE: &str = "
ringfence: 1
rules:
  - { name: watched, match: [{ path: { exact: /watched } }], mode: observe, key: [{ header: x-user }], pools: [{ require: { version: blue } }] }
  - { name: others, key: [{ header: x-user }], pools: [{ require: { version: blue } }] }
";

#[tokio::test(start_paused = true)]
async fn a_chosen_baseline_decides_and_is_compared() {
    let fleet = instances(&[("blue", 2), ("green", 2)]);
    let cluster = Cluster::with_policy(fleet, BLUE).await;
    let probe = ProbeService::new();
    let layer = cluster.layer().with_baseline(Baseline::round_robin());
    let client = layer.wrap(probe.clone());
    for user in 0..100 {
        authority(&client, &probe, "/watched", user).await;
    }
    for target in ["blue-0:80", "blue-1:80", "green-0:80", "green-1:80"] {
        assert_eq!(probe.calls_to(target), 25, "{target}");
    }
    let report = cluster.balancer.observe_report();
    assert_eq!((report.requests, report.compared), (100, 100));
    let suggested = |id: &str| report.shares.get(id).map_or(0, |share| share.suggested);
    assert_eq!(suggested("blue-0") + suggested("blue-1"), 100, "{report}");
    assert!((10..45).contains(&report.agreed), "{report}");

    // A rule that is enforced is no business of the baseline.
    for user in 0..20 {
        let target = authority(&client, &probe, "/", user).await;
        assert!(target.starts_with("blue"), "{target}");
    }
    assert_eq!(cluster.balancer.observe_report().requests, 100);

    // One instance more moves some keys, and the report tells how many.
    let blue = Instance::builder("blue-2", "blue-2:80").version("blue");
    cluster
        .registry
        .register(&cluster.service, blue.build().unwrap());
    cluster
        .until(|balancer| balancer.status().instances == 5)
        .await;
    for user in 0..100 {
        authority(&client, &probe, "/watched", user).await;
    }
    let report = cluster.balancer.observe_report();
    assert_eq!(report.returned, 100);
    assert!((15..60).contains(&report.moved), "ideal are 33: {report}");
    cluster.balancer.reset_observed();
    assert_eq!(cluster.balancer.observe_report().requests, 0);
}

#[tokio::test(start_paused = true)]
async fn an_instance_that_nobody_tells_is_unknown() {
    let cluster = Cluster::with_policy(instances(&[("blue", 2)]), BLUE).await;
    let told = |address: &'static str| {
        let baseline = Baseline::untouched();
        match address {
            "" => baseline,
            _ => baseline.with_instance_of(move |_| Some(address.to_owned())),
        }
    };
    for address in ["", "blue-1:80", "BLUE-1:80"] {
        let client = cluster.layer().with_baseline(told(address));
        let client = client.wrap(ProbeService::new());
        for user in 0..50 {
            client
                .clone()
                .once(get("http://x/watched", user))
                .await
                .unwrap();
        }
    }
    let report = cluster.balancer.observe_report();
    assert_eq!(
        (report.requests, report.unknown, report.compared),
        (150, 50, 100)
    );
    assert_eq!(
        report.shares["blue-1"].actual, 100,
        "by its address: {report}"
    );
    assert!(report.agreed > 0 && report.agreed < 100, "{report}");
}

const USERS: usize = 400;

/// Raising the share keeps all keys that were in; the rest goes to the baseline.
#[tokio::test(start_paused = true)]
async fn a_share_of_the_keys_is_enforced_and_grows() {
    let fleet = instances(&[("blue", 2), ("green", 2)]);
    let with_share = |percent: u32| {
        BLUE.replacen(
            "ringfence: 1",
            &format!("ringfence: 1\nmode: {{ enforce_percent: {percent} }}"),
            1,
        )
    };
    let cluster = Cluster::with_policy(fleet, &with_share(0)).await;
    // The baseline sends every key to a green instance.
    let green = cluster.key(&["green-0"]);
    let retry = RetryPolicy::default();
    let mut before = BTreeSet::new();
    for percent in [0, 5, 20, 60, 100] {
        let epoch = cluster.balancer.status().epoch;
        cluster.balancer.set_policy(policy(&with_share(percent)));
        cluster
            .until(|balancer| balancer.status().epoch > epoch)
            .await;
        let probe = ProbeService::new();
        let client = cluster
            .layer()
            .with_retry(retry.clone())
            .wrap(probe.clone());
        let mut enforced = BTreeSet::new();
        for user in 0..USERS {
            let request = common::keyed(get("/", user), &green);
            client.clone().once(request).await.unwrap();
            let blue = probe.calls_to("blue-0:80") + probe.calls_to("blue-1:80");
            if blue > enforced.len() {
                enforced.insert(user);
            }
            assert_eq!(blue + probe.calls_to("green-0:80"), user + 1);
        }
        assert!(
            enforced.is_superset(&before),
            "somebody left at {percent} %"
        );
        let expected = USERS / 100 * usize::try_from(percent).unwrap();
        assert!(
            enforced.len().abs_diff(expected) <= 40,
            "{} of {USERS} at {percent} %",
            enforced.len()
        );
        before = enforced;
    }
    assert_eq!(before.len(), USERS);
}

/// What only observes must not make a client depend on a registry.
#[tokio::test(start_paused = true)]
async fn what_is_not_decided_does_not_wait_for_the_registry() {
    let silent = |text: &str| {
        let builder = Balancer::builder(ScriptedDiscovery::new(), "orders");
        builder
            .with_config(config())
            .with_policy(policy(text))
            .build()
            .unwrap()
    };
    for (mode, passes) in [("observe", true), ("off", true), ("enforce", false)] {
        let balancer = silent(&OBSERVE.replace("observe", mode));
        let layer = ringfence_tower::RingfenceLayer::new(balancer.clone());
        let probe = ProbeService::new();
        let client = layer
            .with_baseline(Baseline::untouched())
            .wrap(probe.clone());
        let answer = client.clone().once(get("http://x/", 1)).await;
        assert_eq!(answer.is_ok(), passes, "{mode}");
        if let Err(error) = answer {
            assert_eq!(error.kind(), ErrorKind::NotReady);
        }
        balancer.switch_policy(false);
        client.clone().once(get("http://x/", 1)).await.unwrap();
        assert_eq!(probe.calls_to("x"), 1 + usize::from(passes));
    }
}

#[tokio::test(start_paused = true)]
async fn uses_of_tags_are_audited_and_no_request_waits_for_it() {
    let authority = TagAuthority::new();
    let text = "
ringfence: 1
gray: { next: { to: { version: gray } } }
rules: [{ name: all, gray: [next], tags_from_headers: { x-tenant: { tag: tenant } } }]
";
    let context = PolicyContext::new().with_authority(&authority);
    let gray = PolicyDocument::parse_and_compile(text, &context).unwrap();
    let kept = Arc::new(AuditQueue::new(10_000));
    let sink = Arc::clone(&kept);
    let set_up = |balancer: BalancerBuilder| {
        balancer
            .with_config(config())
            .with_policy(gray)
            .with_audit_sink(sink)
    };
    let cluster = Cluster::build(instances(&[("gray", 1), ("v1", 1)]), set_up).await;
    let client = cluster.layer().wrap(ProbeService::new());
    let forged = TagAuthority::new();
    for token in [
        Some(authority.gray("next", "tester")),
        Some(forged.gray("next", "mallory")),
        None,
    ] {
        let mut request = get("/", 1);
        match token {
            Some(token) => {
                request.extensions_mut().insert(token);
            }
            None => {
                let acme = "acme\u{1b}[31m".replace('\u{1b}', "?");
                request
                    .headers_mut()
                    .insert("x-tenant", acme.parse().unwrap());
            }
        }
        client.clone().once(request).await.unwrap();
    }
    client.clone().once(get("/", 1)).await.unwrap();
    let mut seen = Vec::new();
    common::until(|| {
        seen.extend(kept.take());
        seen.len() == 3
    })
    .await;
    let seen: Vec<_> = seen
        .iter()
        .map(|e| (&*e.who, &*e.tag, e.decision, e.reason))
        .collect();
    assert_eq!(
        seen,
        [
            (
                "tester",
                "gray=next",
                AuditDecision::Accepted,
                AuditReason::Authority
            ),
            (
                "mallory",
                "gray=next",
                AuditDecision::Refused,
                AuditReason::ForeignAuthority
            ),
            (
                "",
                "tenant=acme?[31m",
                AuditDecision::Refused,
                AuditReason::UntrustedHeader
            ),
        ]
    );

    // The sink's task does not come to its turn in this loop.
    assert_eq!(cluster.balancer.status().counters.audit_lost, 0);
    for _ in 0..5_000 {
        let mut request = get("/", 1);
        request
            .extensions_mut()
            .insert(authority.gray("next", "tester"));
        client.clone().once(request).await.unwrap();
    }
    let lost = cluster.balancer.status().counters.audit_lost;
    let mut total = 0;
    common::until(|| {
        total += u64::try_from(kept.take().len()).unwrap();
        total + lost == 5_000
    })
    .await;
    assert!(lost > 0, "nothing was too much");
}

#[tokio::test(start_paused = true)]
async fn keys_that_never_come_back_are_found_out() {
    let cluster = Cluster::with_policy(instances(&[("blue", 2)]), BLUE).await;
    let client = cluster.layer().wrap(ProbeService::new());
    for path in ["/", "/watched"] {
        for user in 0..10_000 {
            let user = if path == "/" { user } else { user % 500 };
            client.clone().once(get(path, user)).await.unwrap();
        }
    }
    let status = cluster.balancer.status();
    assert_eq!(
        status.key_findings,
        [("others".to_owned(), KeyFinding::Counter)]
    );
    // With another policy the looking begins anew.
    let epoch = status.epoch;
    cluster.balancer.set_policy(policy(BLUE));
    cluster
        .until(|balancer| balancer.status().epoch > epoch)
        .await;
    assert_eq!(cluster.balancer.status().key_findings, []);
}

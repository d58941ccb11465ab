//! What the layer does with a policy.
#![allow(clippy::panic, clippy::unwrap_used, reason = "all of it is tests")]

mod common;

use std::collections::BTreeSet;
use std::time::Duration;

use bytes::Bytes;
use common::{Cluster, Once as _, config, policy};
use http::{HeaderName, Request, StatusCode};
use http_body_util::Empty;
use ringfence_balancer::{BalancerBuilder, OutlierConfig};
use ringfence_core::Instance;
use ringfence_policy::{PolicyContext, PolicyDocument, TagAuthority};
use ringfence_testkit::{ProbeAnswer, ProbeService, Warnings};
use ringfence_tower::{Error, ErrorKind, KeySource, RequestTags, Ringfence};

/// Instances `name-0..` of each version; `-` is none.
fn fleet(versions: &[(&str, usize)]) -> Vec<Instance> {
    let each = versions.iter().flat_map(|(version, count)| {
        (0..*count).map(move |n| {
            let id = format!("{version}-{n}");
            let instance = Instance::builder(&id, format!("{id}:80"));
            let instance = match *version {
                "plain" => instance,
                version => instance.version(version),
            };
            instance.build().unwrap()
        })
    });
    each.collect()
}

fn get(uri: &str) -> Request<Empty<Bytes>> {
    Request::get(uri).body(Empty::new()).unwrap()
}

async fn status(
    client: &Ringfence<ProbeService>,
    request: Request<Empty<Bytes>>,
) -> Result<u16, Error> {
    let response = client.clone().once(request).await?;
    Ok(response.status().as_u16())
}

/// Where the calls went, without the numbers.
fn versions(probe: &ProbeService) -> BTreeSet<String> {
    let calls = probe.calls().into_iter();
    let authorities = calls.map(|call| call.uri.authority().unwrap().to_string());
    authorities
        .map(|authority| authority.split_once('-').unwrap().0.to_owned())
        .collect()
}

#[tokio::test(start_paused = true)]
async fn the_rule_finds_the_key_and_the_pool() {
    let text = "
ringfence: 1
rules:
  - name: blue
    match: [{ path: { prefix: /blue } }]
    key: [{ header: x-user, normalise: [case_fold_ascii] }]
    pools: [{ require: { version: blue } }]
";
    let cluster = Cluster::with_policy(fleet(&[("blue", 5), ("plain", 5)]), text).await;
    let probe = ProbeService::new();
    let client = cluster.layer().wrap(probe.clone());
    for n in 0..40 {
        let mut request = get("/blue/x?y=1");
        let user = ["ALICE", "alice", "Alice"][n % 3];
        request
            .headers_mut()
            .insert("x-user", user.parse().unwrap());
        assert_eq!(status(&client, request).await.unwrap(), 200);
    }
    let calls: BTreeSet<_> = probe
        .calls()
        .iter()
        .map(|call| call.uri.to_string())
        .collect();
    assert_eq!(calls.len(), 1, "one key, one owner: {calls:?}");
    assert_eq!(versions(&probe), ["blue".to_owned()].into());

    for _ in 0..100 {
        assert_eq!(status(&client, get("/else")).await.unwrap(), 200);
    }
    let instances: BTreeSet<_> = probe
        .calls()
        .into_iter()
        .map(|call| call.uri.to_string())
        .collect();
    assert!(
        instances.len() > 5,
        "without a key it is spread: {instances:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn the_limits_of_the_rule_are_heeded() {
    let text = "
ringfence: 1
rules:
  - { name: once, match: [{ path: { exact: /once } }], limits: { max_attempts: 1 } }
  - { name: twice, match: [{ path: { exact: /twice } }], limits: { max_attempts: 2 } }
  - { name: many, match: [{ path: { exact: /many } }], limits: { max_attempts: 8 } }
  - { name: short, match: [{ path: { exact: /short } }], key: [{ header: x-user }], missing_key: reject, limits: { max_key_len: 4 } }
";
    let cluster = Cluster::with_policy(fleet(&[("plain", 6)]), text).await;
    let probe = ProbeService::new();
    for n in 0..6 {
        let refused = ProbeAnswer::Status(StatusCode::SERVICE_UNAVAILABLE);
        probe.always(&format!("plain-{n}:80"), refused);
    }
    let client = cluster.layer().wrap(probe.clone());
    // The balancer itself allows three.
    for (path, attempts) in [("/once", 1), ("/twice", 2), ("/many", 3)] {
        let before = probe.calls().len();
        assert_eq!(status(&client, get(path)).await.unwrap(), 503);
        assert_eq!(probe.calls().len() - before, attempts, "{path}");
    }
    let with_user = |user: &str| {
        let mut request = get("/short");
        request
            .headers_mut()
            .insert("x-user", user.parse().unwrap());
        request
    };
    assert_eq!(status(&client, with_user("bob")).await.unwrap(), 503);
    for request in [with_user("alice"), get("/short")] {
        let error = status(&client, request).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::KeyRequired, "{error}");
        assert_eq!(error.rule(), Some("short"));
        let text = error.to_string();
        assert_eq!(
            text,
            "rule `short`: service orders.internal takes only requests with a key"
        );
    }
    assert_eq!(cluster.balancer.status().counters.keys_too_long, 1);
}

const LANES: &str = "
ringfence: 1
tenants: { acme: { mode: dedicated, strict: true } }
rules:
  - name: edge
    match: [{ path: { prefix: /edge } }]
    tags_from_headers: { x-tenant: { tag: tenant, trusted: true } }
  - name: open
    tags_from_headers: { x-tenant: { tag: tenant }, x-lane: { tag: lane } }
";

#[tokio::test(start_paused = true)]
async fn headers_that_are_not_trusted_are_not_heeded_and_go_no_further() {
    let mut fleet = fleet(&[("plain", 3)]);
    let acme = Instance::builder("acme-0", "acme-0:80").tag("tenant", "acme");
    fleet.push(acme.build().unwrap());
    let cluster = Cluster::with_policy(fleet, LANES).await;
    let probe = ProbeService::new();
    let client = cluster.layer().wrap(probe.clone());
    let tagged = |path: &str| {
        let mut request = get(path);
        let headers = request.headers_mut();
        headers.append("x-tenant", "acme".parse().unwrap());
        headers.append("x-tenant", "globex".parse().unwrap());
        headers.append("x-lane", "blue".parse().unwrap());
        headers.append("x-other", "stays".parse().unwrap());
        request
    };
    for _ in 0..20 {
        assert_eq!(status(&client, tagged("/")).await.unwrap(), 200);
    }
    assert_eq!(versions(&probe), ["plain".to_owned()].into());
    for call in probe.calls() {
        assert!(!call.headers.contains_key("x-tenant"), "{:?}", call.headers);
        assert!(!call.headers.contains_key("x-lane"), "{:?}", call.headers);
        assert_eq!(call.headers["x-other"], "stays");
    }

    // Behind a proxy that is trusted: what says two things was added to by somebody else.
    for (is_added_to, host) in [(false, "acme-0"), (true, "plain-")] {
        let before = probe.calls().len();
        let mut request = tagged("/edge");
        if !is_added_to {
            let tenant = "acme".parse().unwrap();
            request.headers_mut().insert("x-tenant", tenant);
        }
        assert_eq!(status(&client, request).await.unwrap(), 200);
        let calls = probe.calls().split_off(before);
        assert!(calls[0].uri.host().unwrap().starts_with(host));
        let stays = &calls[0].headers["x-tenant"];
        assert_eq!(stays, "acme", "what is trusted stays");
    }
}

/// B21: neither headers nor another authority's tokens get to gray instances.
#[tokio::test(start_paused = true)]
async fn gray_is_for_tokens_of_the_policys_authority() {
    let authority = TagAuthority::new();
    let text = "
ringfence: 1
gray: { next: { to: { version: gray } } }
rules: [{ name: all, key: [{ query: user }], gray: [next] }]
";
    let context = PolicyContext::new().with_authority(&authority);
    let gray = PolicyDocument::parse_and_compile(text, &context).unwrap();
    let build = |balancer: BalancerBuilder| balancer.with_config(config()).with_policy(gray);
    let cluster = Cluster::build(fleet(&[("gray", 3), ("plain", 3)]), build).await;
    let probe = ProbeService::new();
    let client = cluster.layer().wrap(probe.clone());
    let forged = TagAuthority::new();
    for n in 0..50 {
        let mut request = get(&format!("/?user={n}"));
        let headers = request.headers_mut();
        headers.insert("gray", "next".parse().unwrap());
        headers.insert("version", "gray".parse().unwrap());
        let extensions = request.extensions_mut();
        extensions.insert(forged.gray("next", "mallory"));
        extensions.insert(forged.tags(RequestTags::new().with_version("gray"), "mallory"));
        assert_eq!(status(&client, request).await.unwrap(), 200);
    }
    assert_eq!(versions(&probe), ["plain".to_owned()].into());

    let probe = ProbeService::new();
    let client = cluster.layer().wrap(probe.clone());
    for n in 0..50 {
        let mut request = get(&format!("/?user={n}"));
        let token = authority.gray("next", "tester");
        request.extensions_mut().insert(token);
        assert_eq!(status(&client, request).await.unwrap(), 200);
    }
    assert_eq!(versions(&probe), ["gray".to_owned()].into());
}

/// Both kill switches act on the next request, and a new policy on those after it is published.
#[tokio::test(start_paused = true)]
async fn a_policy_can_be_switched_off_and_replaced() {
    let with_mode = |mode: &str| {
        format!(
            "{{ ringfence: 1, mode: {mode}, rules: [{{ name: all, pools: [{{ require: {{ version: blue }} }}] }}] }}"
        )
    };
    let fleet = fleet(&[("blue", 3), ("plain", 3)]);
    let cluster = Cluster::with_policy(fleet, &with_mode("enforce")).await;
    let seen = async || {
        let probe = ProbeService::new();
        let client = cluster.layer().wrap(probe.clone());
        for _ in 0..100 {
            assert_eq!(status(&client, get("/")).await.unwrap(), 200);
        }
        versions(&probe).into_iter().collect::<Vec<_>>()
    };
    assert_eq!(seen().await, ["blue"]);
    cluster.balancer.switch_policy(false);
    assert!(!cluster.balancer.is_policy_on());
    assert_eq!(seen().await, ["blue", "plain"]);
    cluster.balancer.switch_policy(true);
    assert_eq!(seen().await, ["blue"]);
    let epoch = cluster.balancer.status().epoch;
    cluster.balancer.set_policy(policy(&with_mode("off")));
    cluster
        .until(|balancer| balancer.status().epoch > epoch)
        .await;
    assert_eq!(seen().await, ["blue", "plain"]);
}

/// B54: what a call is told by a policy (which headers go no further) and the pool it gets belong together.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_see_whole_policies_while_they_are_swapped() {
    // Each policy strips the header of the other's colour, and its first plan is the other's second.
    let colour = |colour: &str, other: &str| {
        let rule = |name: &str, path: &str, version: &str, strip: &str| {
            format!(
                "{{ name: {name}, match: [{{ path: {{ exact: {path} }} }}], tags_from_headers: {{ {strip}: {{ tag: t }} }}, \
                 pools: [{{ require: {{ version: {version} }} }}] }}"
            )
        };
        let first = rule("first", "/", colour, &format!("x-{other}"));
        let second = rule("second", "/second", other, "x-none");
        let text = format!("{{ ringfence: 1, rules: [{first}, {second}] }}");
        std::sync::Arc::new(policy(&text))
    };
    let policies = [colour("blue", "green"), colour("green", "blue")];
    let fleet = fleet(&[("blue", 3), ("green", 3)]);
    let first = std::sync::Arc::clone(&policies[0]);
    let set_up = |balancer: BalancerBuilder| balancer.with_config(config()).with_policy(first);
    let cluster = Cluster::build(fleet, set_up).await;
    let probe = ProbeService::new();
    let client = cluster.layer().wrap(probe.clone());
    let calling = tokio::spawn(async move {
        for _ in 0..3_000 {
            let mut request = get("/");
            for name in ["x-blue", "x-green"] {
                request.headers_mut().insert(name, "1".parse().unwrap());
            }
            assert_eq!(status(&client, request).await.unwrap(), 200);
            tokio::task::yield_now().await;
        }
    });
    let mut swaps = 0;
    while !calling.is_finished() {
        swaps += 1;
        let next = std::sync::Arc::clone(&policies[swaps % 2]);
        let epoch = cluster.balancer.status().epoch;
        cluster.balancer.set_policy(next);
        cluster
            .until(|balancer| balancer.status().epoch > epoch)
            .await;
    }
    calling.await.unwrap();
    for call in probe.calls() {
        let target = call.uri.host().unwrap();
        let (own, other) = match target.split_once('-').unwrap().0 {
            "blue" => ("x-blue", "x-green"),
            _ => ("x-green", "x-blue"),
        };
        assert!(
            call.headers.contains_key(own),
            "{target}: {:?}",
            call.headers
        );
        assert!(
            !call.headers.contains_key(other),
            "{target}: {:?}",
            call.headers
        );
    }
    assert_eq!(versions(&probe).len(), 2, "both were seen");
    assert!(swaps > 10, "{swaps} swaps");
}

#[tokio::test(start_paused = true)]
async fn key_sources_of_the_layer_that_a_policy_makes_void_are_warned_of_once_for_each_policy() {
    let user = || KeySource::header(HeaderName::from_static("x-user"));
    for (text, source, told) in [
        ("ringfence: 1\nrules: [{ name: a }]", user(), 1),
        ("ringfence: 1\nmode: observe", user(), 1),
        ("ringfence: 1\nmode: off", user(), 0),
        (
            "ringfence: 1\nrules: [{ name: a, key: [{ header: x-user }] }]",
            user(),
            0,
        ),
        (
            "ringfence: 1\nrules: [{ name: a }]",
            KeySource::extension(),
            0,
        ),
    ] {
        let cluster = Cluster::with_policy(fleet(&[("plain", 3)]), text).await;
        let warnings = Warnings::capture();
        let client = cluster.layer().with_key(source).wrap(ProbeService::new());
        for _ in 0..3 {
            status(&client.clone(), get("/")).await.unwrap();
        }
        let lines = warnings.take();
        assert_eq!(lines.len(), told, "{text}: {lines:?}");
        if told == 1 {
            assert!(lines[0].contains("`with_key` has no effect"), "{lines:?}");
            let other = format!("{text}\nzone: {{ local: az-1 }}");
            let compiled = PolicyDocument::parse_and_compile(&other, &PolicyContext::new());
            client.balancer().set_policy(compiled.unwrap());
            tokio::time::sleep(Duration::from_millis(10)).await;
            status(&client, get("/")).await.unwrap();
            assert_eq!(warnings.take().len(), 1, "another policy, another warning");
        }
    }
}

/// The registry has not noticed, and the limit of ejections lets only one of the dead go.
#[tokio::test(start_paused = true)]
async fn a_zone_that_crashes_fails_no_request() {
    let text = "
ringfence: 1
zone: { prefer_local: true }
rules: [{ name: all, key: [{ header: x-user }] }]
";
    let context = PolicyContext::new().with_zone("a");
    let policy = PolicyDocument::parse_and_compile(text, &context).unwrap();
    let instances = ["a0", "a1", "a2", "b0", "b1", "b2"].map(|id| {
        let instance = Instance::builder(id, format!("{id}:80")).zone(&id[..1]);
        instance.build().unwrap()
    });
    let set_up = |balancer: BalancerBuilder| {
        let config = config().with_outlier(OutlierConfig::default());
        balancer.with_config(config).with_policy(policy)
    };
    let cluster = Cluster::build(instances, set_up).await;
    let probe = ProbeService::new();
    let client = cluster.layer().wrap(probe.clone());
    let request = |n: u32| {
        let mut request = get("/");
        let user = format!("user-{n}").parse().unwrap();
        request.headers_mut().insert("x-user", user);
        request
    };
    for n in 0..100 {
        assert_eq!(status(&client, request(n)).await.unwrap(), 200);
    }
    let at_home = probe
        .calls()
        .iter()
        .all(|call| call.uri.host().unwrap().starts_with('a'));
    assert!(at_home, "nobody leaves a zone that is well");
    for id in ["a0", "a1", "a2"] {
        probe.always(
            &format!("{id}:80"),
            ProbeAnswer::Fail(std::io::ErrorKind::ConnectionRefused),
        );
    }
    for n in 0..500 {
        assert_eq!(status(&client, request(n)).await.unwrap(), 200);
    }
}

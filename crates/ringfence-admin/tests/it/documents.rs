//! What documents tell, and what they keep to themselves.

use ringfence_admin::Admin;
use ringfence_balancer::{Balancer, CallOutcome, PickRequest};
use ringfence_core::{Instance, PlanId, RequestTags};
use ringfence_discovery::{MemoryRegistry, StaticDocument};
use ringfence_policy::{PolicyContext, PolicyDocument, RequestHead, RingDump};
use serde_json::{Value, json};

use crate::support::{SERVICE, fail_owner, fleet, get, plain, service, until};

fn row<'a>(snapshot: &'a Value, id: &str) -> &'a Value {
    let mut rows = snapshot["instances"].as_array().expect("a list").iter();
    rows.find(|row| row["id"] == id)
        .unwrap_or_else(|| panic!("{id} is not in {snapshot}"))
}

#[tokio::test]
async fn each_state_has_its_word() {
    let (registry, balancer) = plain(5).await;
    let service = service(&balancer);
    let ejected = fail_owner(&balancer, "alice");
    let ids = (1..=5).map(|n| format!("orders-{n}"));
    let others: Vec<_> = ids.filter(|id| *id != ejected).collect();
    registry
        .set_enabled(SERVICE, &others[0], false)
        .expect("it is there");
    registry
        .set_weight(SERVICE, &others[1], 0)
        .expect("it is there");
    registry
        .set_health(SERVICE, &others[2], ringfence_core::Health::Unhealthy)
        .expect("it is there");
    let expected = [
        (&ejected, "ejected"),
        (&others[0], "disabled"),
        (&others[1], "drained"),
        (&others[2], "unhealthy"),
        (&others[3], "usable"),
    ];
    let snapshot = until(&service, "/snapshot", |snapshot| {
        expected
            .iter()
            .all(|(id, state)| row(snapshot, id)["state"] == *state)
    })
    .await;
    assert_eq!(snapshot["counts"]["ejected"], 1);
    let row_of_ejected = row(&snapshot, &ejected);
    assert_eq!(row_of_ejected["failures"], 5);
    let ejection = &row_of_ejected["ejection"];
    assert_eq!(ejection["cause"], "consecutive_connect_failures");
    let left = ejection["seconds_left"].as_u64().expect("a number");
    assert!(
        (20..=33).contains(&left) && ejection["times"] == 1,
        "{ejection}"
    );
    assert_eq!(row(&snapshot, &others[3])["ejection"], Value::Null);
}

/// The dump is whole and in its own form, so that it can be compared with that of another client.
#[tokio::test]
async fn the_dump_is_that_of_the_balancer() {
    let (_registry, balancer) = plain(1_200).await;
    let answer = get(&service(&balancer), "/dump?service=orders").await;
    let told = RingDump::parse(&answer.text).expect("a dump");
    let own = balancer.dump().expect("there is a view");
    assert_eq!(told.instances.len(), 1_200);
    assert_eq!(told.first_disagreement(&own), None);
    assert_eq!(answer.text, own.to_json());
}

#[tokio::test]
async fn a_policy_that_is_observed_is_reported() {
    let (_registry, balancer) = fleet().await;
    let service = service(&balancer);
    let told = get(&service, "/observe").await.json();
    assert_eq!(told["observe"], Value::Null);
    let text =
        "{ ringfence: 1, mode: observe, rules: [{ name: carts, key: [{ header: x-user }] }] }";
    let policy = PolicyDocument::parse_and_compile(text, &PolicyContext::new()).expect("legal");
    let fingerprint = policy.fingerprint();
    balancer.set_policy(policy);
    while balancer
        .policy()
        .is_none_or(|policy| policy.fingerprint() != fingerprint)
    {
        tokio::task::yield_now().await;
    }
    for n in 0..10 {
        let request = http::Request::get("/cart").header("x-user", format!("user-{n}"));
        let request = request.body(()).expect("legal");
        let head = RequestHead::of(&request);
        let suggestion = balancer.read(|current| {
            let evaluation = current.evaluate(&head).expect("it is on");
            current.suggest(&evaluation)
        });
        let suggestion = suggestion.expect("there is a view");
        balancer.observed(&suggestion, Some("stable-1"));
    }
    let report = balancer.observe_report();
    for path in ["/observe", "/state"] {
        let told = get(&service, path).await.json();
        let told = &told["observe"];
        assert_eq!(
            (&told["requests"], &told["agreed"]),
            (&json!(10), &json!(report.agreed))
        );
        assert_eq!(told["policy"], format!("{fingerprint:016x}"));
        let rows = told["instances"].as_array().expect("a list");
        let stable = rows
            .iter()
            .find(|row| row["id"] == "stable-1")
            .expect("it is there");
        assert_eq!(stable["actual"], 10, "{told}");
    }
}

#[tokio::test]
async fn what_is_wrong_with_the_newest_policy_is_told() {
    let balancer = with_wrong_policy("ringfence: 1\nrules:\n  - { name: carts, keys: [] }\n").await;
    let shown = Admin::new().with_balancer(&balancer).with_tags().service();
    let told = get(&shown, "/snapshot").await.json();
    let policy = &told["policy"];
    assert_eq!(policy["fingerprint"], Value::Null);
    let source = &policy["source"];
    assert_eq!(
        (&source["rejected"], &source["accepted"]),
        (&json!(1), &json!(0)),
        "{source}"
    );
    assert_eq!(source["fault"]["line"], 3);
    let text = source["fault"]["text"].as_str().expect("text");
    assert!(text.contains("keys"), "{text}");
    // Where the program sets the policy itself there is no source.
    let (_registry, plain) = plain(1).await;
    let told = get(&service(&plain), "/snapshot").await.json();
    assert_eq!(told["policy"]["source"], Value::Null);
}

/// A balancer whose newest policy is wrong.
async fn with_wrong_policy(text: &str) -> Balancer {
    let registry = MemoryRegistry::new();
    let instance = Instance::builder("a", "10.0.0.1:80").build();
    registry.register(SERVICE, instance.expect("legal"));
    Balancer::builder(registry, SERVICE)
        .with_policy_source(StaticDocument::new(text), PolicyContext::new())
        .build_ready()
        .await
        .expect("ready")
}

/// The text of a fault quotes the document, and so does the path of what stands below a tenant or in a place of its own.
#[tokio::test]
async fn what_is_wrong_with_a_policy_quotes_it_to_those_alone_who_may_see_tags() {
    let rule = |rest: &str| {
        format!(
            "ringfence: 1\nrules:\n  - {{ name: carts, key: [{{ header: x-user }}], {rest} }}\n"
        )
    };
    let wrong = [
        (
            rule("match: [{ tags: { tenant: acme-secret } }]"),
            json!("rules[0]"),
            3,
        ),
        (
            rule("match: [{ tags: { tenant: { acme-secret: true } } }]"),
            json!("rules[0]"),
            3,
        ),
        (
            "ringfence: 1\ntenants: { acme-secret: salted, ' acme-secret': shared }\n".to_owned(),
            json!("tenants"),
            2,
        ),
        (
            "ringfence: 1\ntenants:\n  acme-secret: { mode: shuffle_shard, size: 0 }\n".to_owned(),
            json!("tenants"),
            3,
        ),
        (
            "ringfence: 1\nacme-secret: { mode: salted }\n".to_owned(),
            Value::Null,
            2,
        ),
    ];
    for (text, part, line) in wrong {
        let balancer = with_wrong_policy(&text).await;
        let hidden = service(&balancer);
        for path in ["/snapshot", "/state", "/pools", "/healthz", "/services"] {
            let told = get(&hidden, path).await.text;
            assert!(!told.contains("acme"), "{path} of {text}: {told}");
        }
        let told = get(&hidden, "/snapshot").await.json();
        let fault = &told["policy"]["source"]["fault"];
        assert_eq!(fault["text"], Value::Null, "{text}");
        assert_eq!(
            (&fault["path"], &fault["line"]),
            (&part, &json!(line)),
            "{text}"
        );

        let shown = Admin::new().with_balancer(&balancer).with_tags().service();
        let told = get(&shown, "/snapshot").await.json();
        let fault = &told["policy"]["source"]["fault"];
        let quoted = fault["text"].as_str().expect("text");
        assert!(quoted.contains("acme-secret"), "{quoted}");
        assert_eq!(fault["line"], line, "{text}");
    }
}

/// What is no policy's text quotes nothing.
#[tokio::test]
async fn a_fault_that_quotes_nothing_is_told_to_everybody() {
    let registry = MemoryRegistry::new();
    let instance = Instance::builder("a", "10.0.0.1:80").build();
    registry.register(SERVICE, instance.expect("legal"));
    let balancer = Balancer::builder(registry, SERVICE)
        .with_policy_source(StaticDocument::new(vec![b'a', 0xff]), PolicyContext::new())
        .build_ready()
        .await
        .expect("ready");
    let told = get(&service(&balancer), "/snapshot").await.json();
    let fault = &told["policy"]["source"]["fault"];
    assert_eq!(fault["text"], "line 1: not UTF-8");
    assert_eq!((&fault["path"], &fault["line"]), (&Value::Null, &json!(1)));
}

#[tokio::test]
async fn shares_add_up() {
    let (_registry, balancer) = fleet().await;
    let service = service(&balancer);
    let snapshot = get(&service, "/snapshot").await.json();
    let ring = get(&service, "/ring").await.json();
    let sum = |rows: &Value, share: &str| -> f64 {
        rows.as_array()
            .expect("a list")
            .iter()
            .map(|row| row[share].as_f64().expect("a number"))
            .sum()
    };
    assert!((sum(&snapshot["instances"], "ring_share") - 1.0).abs() < 1e-9);
    assert!((sum(&snapshot["instances"], "weight_share") - 1.0).abs() < 1e-9);
    assert!((sum(&ring["members"], "share") - 1.0).abs() < 1e-9);
    assert_eq!(ring["fingerprint"], snapshot["fingerprint"]);
    assert_eq!(row(&snapshot, "gray-2")["ring_share"], 0.0);
    assert_eq!(row(&snapshot, "stable-3")["weight_share"], 0.4);
}

#[tokio::test]
async fn values_of_tags_are_for_those_who_may_have_them() {
    let (_registry, balancer) = fleet().await;
    // A tenant's route is prepared by its first request.
    let tags = RequestTags::new().with_tenant("acme-secret");
    let request = PickRequest::new().with_key("a").with_tags(&tags);
    while balancer.view().is_none_or(|view| view.routes().len() == 0) {
        let decision = balancer.pick(&request).expect("there is one");
        assert_eq!(decision.instance().id().as_str(), "stable-1");
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    let documents = [
        "/state",
        "/snapshot",
        "/pools",
        "/ring",
        "/explain?path=/cart&header=x-user:a",
    ];
    let hidden = service(&balancer);
    for path in documents {
        let text = get(&hidden, path).await.text;
        assert!(!text.contains("acme-secret"), "{path}: {text}");
    }
    let pools = get(&hidden, "/pools").await.json();
    assert!(pools.to_string().contains("tenant=…"), "{pools}");
    let shown = Admin::new().with_balancer(&balancer).with_tags().service();
    let snapshot = get(&shown, "/snapshot").await.json();
    assert_eq!(
        row(&snapshot, "stable-1")["tags"],
        json!({ "tenant": "acme-secret" })
    );
    assert!(
        get(&shown, "/pools")
            .await
            .text
            .contains("tenant=acme-secret")
    );
}

/// What `/pools` tells of the rings of a tenant, whose name follows from nothing else that is told.
async fn rings_of_tenant(tenant: &str, mode: &str, shows_tags: bool) -> Vec<Value> {
    let registry = MemoryRegistry::new();
    let instances = (1..=3).map(|n| {
        let built = Instance::builder(format!("s-{n}"), format!("10.0.0.{n}:80")).build();
        built.expect("legal")
    });
    registry.replace(SERVICE, instances.collect::<Vec<_>>());
    let text = format!(
        "
ringfence: 1
tenants: {{ {tenant}: {{ {mode} }} }}
rules: [{{ name: all, key: [{{ header: x-user }}] }}]
"
    );
    let policy = PolicyDocument::parse_and_compile(&text, &PolicyContext::new()).expect("legal");
    let balancer = Balancer::builder(registry.clone(), SERVICE)
        .with_policy(policy)
        .build()
        .expect("legal");
    balancer.ready().await.expect("a view");
    let admin = Admin::new().with_balancer(&balancer);
    let admin = if shows_tags { admin.with_tags() } else { admin };
    let service = admin.service();
    // A shard is prepared by the first request of its tenant; plan 1 is that of tenants that are kept apart.
    let tags = RequestTags::new().with_tenant(tenant);
    let request = PickRequest::new()
        .with_key("a")
        .with_plan(PlanId::nth(1))
        .with_tags(&tags);
    let own = |pools: &Value| -> Vec<Value> {
        let pools = pools["pools"].as_array().expect("a list").iter();
        let own = pools.filter(|pool| {
            let condition = pool["condition"].as_str().expect("text");
            ["ring of its own", "ring seed", "shard"]
                .iter()
                .any(|told| condition.contains(told))
        });
        own.map(|pool| pool["ring"].clone()).collect()
    };
    let _ = balancer.pick(&request);
    let pools = until(&service, "/pools", |pools| !own(pools).is_empty()).await;
    own(&pools)
}

#[tokio::test]
async fn no_fingerprint_confirms_a_guess_of_a_tenant() {
    for mode in ["mode: own_ring", "mode: shuffle_shard, size: 2"] {
        let hidden = rings_of_tenant("acme-secret", mode, false).await;
        assert!(!hidden.is_empty(), "{mode}");
        for ring in &hidden {
            assert!(
                ring.is_null() || ring["fingerprint"].is_null(),
                "{mode}: {ring}"
            );
        }
        let guessed = rings_of_tenant("globex", mode, false).await;
        assert_eq!(hidden, guessed, "{mode}: tenants are told apart");
        let shown = rings_of_tenant("acme-secret", mode, true).await;
        let told = |ring: &Value| ring.is_null() || ring["fingerprint"].is_string();
        assert!(
            !shown.is_empty() && shown.iter().all(told),
            "{mode}: {shown:?}"
        );
    }
}

/// (B63) Names and numbers of what is told are bounded, whatever clients send.
#[tokio::test]
async fn no_key_is_told_and_no_answer_grows_with_keys() {
    let (_registry, balancer) = plain(3).await;
    let service = service(&balancer);
    // From here on calls are looked at.
    get(&service, "/decisions").await;
    for n in 0..20_000u32 {
        let key = format!("secret-user-{n}");
        let decision = balancer
            .pick(&PickRequest::new().with_key(&key))
            .expect("there is one");
        if n % 50 == 0
            && let Some(mut call) = balancer.observe_call()
        {
            call.decided(decision.choice(), None);
            call.attempt();
            call.end(CallOutcome::Success, Some(decision.instance().id()));
        }
    }
    let state = get(&service, "/state").await;
    assert!(!state.text.contains("secret-user"));
    assert!(state.text.len() < 64 * 1024, "{}", state.text.len());
    let decisions = get(&service, "/decisions").await.json();
    let first = &decisions["decisions"][0];
    assert_eq!(
        (&first["outcome"], &first["pool"]),
        (&json!("success"), &json!("default/0")),
        "{decisions}"
    );
    assert_eq!(first["key_hash"].as_str().expect("text").len(), 16);
    let hot = get(&service, "/hot-keys").await.json();
    assert_eq!(hot["on"], true);
    assert!(hot["hottest"].as_array().expect("a list").len() <= 20);
}

#[tokio::test]
async fn many_instances_make_no_large_answer() {
    let (_registry, balancer) = plain(1_500).await;
    let service = service(&balancer);
    let snapshot = get(&service, "/snapshot").await.json();
    assert_eq!(snapshot["truncated"], true);
    assert_eq!(snapshot["counts"]["instances"], 1_500);
    assert_eq!(
        snapshot["instances"].as_array().expect("a list").len(),
        1_000
    );
    let ring = get(&service, "/ring").await;
    assert_eq!(ring.json()["truncated"], true);
    assert!(ring.text.len() < 512 * 1024, "{}", ring.text.len());
}

#[tokio::test]
async fn a_change_tells_who_came_and_what_moved() {
    let (registry, balancer) = plain(3).await;
    let service = service(&balancer);
    registry.register(
        SERVICE,
        Instance::builder("orders-4", "10.9.0.4:80")
            .build()
            .expect("legal"),
    );
    registry
        .deregister(SERVICE, "orders-1")
        .expect("it was there");
    let ids = |changes: &Value, field: &str| -> Vec<Value> {
        let all = changes["changes"].as_array().expect("a list").iter();
        all.flat_map(|change| change[field].as_array().expect("a list").clone())
            .collect()
    };
    let changes = until(&service, "/changes", |changes| {
        ids(changes, "added") == [json!("orders-4")]
            && ids(changes, "removed") == [json!("orders-1")]
    })
    .await;
    let all = changes["changes"].as_array().expect("a list").iter();
    let moved = all
        .filter_map(|change| change["moved_share"].as_f64())
        .sum::<f64>();
    assert!(moved > 0.3, "{changes}");
}

#[tokio::test]
async fn the_fallback_order_of_each_rule_is_told() {
    let (_registry, balancer) = fleet().await;
    let pools = get(&service(&balancer), "/pools").await.json();
    let routes = pools["routes"].as_array().expect("a list");
    let gray = routes
        .iter()
        .find(|route| route["uses"][0]["release"] == "v2")
        .unwrap_or_else(|| panic!("{pools}"));
    assert_eq!(gray["uses"][0]["rule"], "carts");
    let stages = gray["stages"].as_array().expect("a list");
    assert!(stages.len() >= 2, "{gray}");
    assert!(
        stages[0]["condition"]
            .as_str()
            .expect("text")
            .contains("version=gray")
    );
    assert_eq!(
        (&stages[0]["members"], &stages[0]["usable"]),
        (&json!(2), &json!(1))
    );
    // The one behind was not looked at.
    assert_eq!(
        (&gray["serves"], &stages[1]["members"]),
        (&json!(0), &Value::Null)
    );
}

#[tokio::test]
async fn the_mode_of_the_policy_is_told() {
    let (_registry, balancer) = plain(2).await;
    let service = service(&balancer);
    let mode = async |fingerprint: Option<u64>| {
        let wanted = json!(fingerprint.map(|number| format!("{number:016x}")));
        let is_wanted = |snapshot: &Value| snapshot["policy"]["fingerprint"] == wanted;
        until(&service, "/snapshot", is_wanted).await["policy"]["mode"].clone()
    };
    assert_eq!(mode(None).await, Value::Null);
    for (written, told) in [
        ("off", json!("off")),
        ("observe", json!("observe")),
        (
            "{ enforce_percent: 12.5 }",
            json!({ "enforce_percent": 12.5 }),
        ),
        ("enforce", json!("enforce")),
    ] {
        let text = format!("{{ ringfence: 1, mode: {written}, rules: [{{ name: all }}] }}");
        let policy = PolicyDocument::parse_and_compile(&text, &PolicyContext::new());
        let policy = policy.expect("legal");
        let fingerprint = policy.fingerprint();
        balancer.set_policy(policy);
        assert_eq!(mode(Some(fingerprint)).await, told);
    }
}

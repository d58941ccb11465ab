//! What an explanation says is what a request gets: random services, policies and requests.

use std::fmt::Write as _;

use fastrand::Rng;

use http::Request;
use ringfence_balancer::{Balancer, BalancerConfig, Current, Decision, PickError, PickRequest};
use ringfence_core::{EnvoyRing, HashAlgorithm, Instance, Jump, Maglev, RequestTags, RingConfig};
use ringfence_discovery::StaticDiscovery;
use ringfence_policy::{
    Explanation, PolicyContext, PolicyDocument, RequestHead, RoutingKey, TagAuthority,
};

use crate::support::service;

/// Services with their settings, and requests to each.
const WORLDS: u64 = 200;
const REQUESTS: u64 = 70;
/// Requests with a key, whose candidates are compared, are at least so many.
const SCENARIOS: usize = 10_000;

fn pick<'a, T>(rng: &mut Rng, of: &'a [T]) -> &'a T {
    let place = rng.u64(..of.len() as u64);
    &of[usize::try_from(place).expect("small")]
}

fn instances(rng: &mut Rng) -> Vec<Instance> {
    let count = 1 + rng.u64(..24);
    let instance = |n| {
        let mut builder = Instance::builder(format!("i{n}"), format!("10.0.0.{}:80", n + 1))
            .weight(*pick(rng, &[0, 50, 100, 100, 100, 300]))
            .zone(*pick(rng, &["az-1", "az-2"]))
            .version(*pick(rng, &["v1", "v1", "v1", "v2", "gray"]))
            .healthy(rng.u64(..100) < 80)
            .enabled(rng.u64(..100) < 95);
        if rng.u64(..100) < 20 {
            builder = builder.tenant(*pick(rng, &["acme", "globex"]));
        }
        builder.build().expect("legal")
    };
    (0..count).map(instance).collect()
}

fn ring(rng: &mut Rng) -> RingConfig {
    let ring = RingConfig::default().with_seed(rng.u64(..3));
    match rng.u64(..8) {
        0 => ring.with_algorithm(EnvoyRing::default()),
        1 => ring.with_algorithm(Maglev::default()),
        2 => ring.with_algorithm(Jump::default()),
        3 => ring.with_algorithm(HashAlgorithm::Rendezvous),
        4 => ring.with_probes(5).expect("legal"),
        _ => ring,
    }
}

fn policy(rng: &mut Rng) -> String {
    let mut text = "ringfence: 1\n".to_owned();
    let mut line = |line: String| writeln!(text, "{line}").expect("a string");
    if rng.u64(..2) == 0 {
        line("zone: { prefer_local: true }".to_owned());
    }
    line(format!(
        "gray:\n  next: {{ to: {{ version: {} }}, percent: {}, tenants: [globex] }}",
        pick(rng, &["gray", "v2"]),
        pick(rng, &[0, 20, 60, 100])
    ));
    let mode = pick(
        rng,
        &[
            "{ mode: dedicated }",
            "{ mode: dedicated, strict: false }",
            "{ mode: shuffle_shard, size: 2 }",
            "{ mode: own_ring }",
            "{ mode: salted }",
            "{ mode: shared }",
        ],
    );
    line(format!("tenants:\n  acme: {mode}"));
    line("rules:".to_owned());
    for (name, path) in [("carts", "/carts"), ("rest", "/")] {
        line(format!(
            "  - name: {name}\n    match: [{{ path: {{ prefix: {path} }} }}]"
        ));
        line(format!(
            "    key: [{}]",
            pick(
                rng,
                &[
                    "{ header: x-user, normalise: [trim, case_fold_ascii] }, { extension: {} }",
                    "{ cookie: sid }, { header: x-user }",
                    "{ extension: {} }",
                ]
            )
        ));
        if rng.u64(..3) > 0 {
            line("    gray: [next]".to_owned());
        }
        if rng.u64(..2) == 0 {
            line(format!(
                "    pools: [{{ require: {{ version: v1 }}, min_usable: {} }}, {{}}]",
                pick(rng, &[1, 2, 4])
            ));
        }
        if rng.u64(..3) == 0 {
            line(format!(
                "    limits: {{ max_attempts: {} }}",
                1 + rng.u64(..4)
            ));
        }
    }
    text
}

fn request(rng: &mut Rng, authority: &TagAuthority) -> Request<()> {
    let user = format!(" User-{}", rng.u64(..1_000_000));
    let mut request = Request::get(*pick(rng, &["/carts/1", "/other"]));
    match rng.u64(..10) {
        0 => {}
        1..5 => request = request.header("x-user", user.clone()),
        _ => request = request.header("cookie", format!("sid={}", user.trim())),
    }
    let mut request = request.body(()).expect("legal");
    let extensions = request.extensions_mut();
    if rng.u64(..10) > 1 {
        extensions.insert(RoutingKey::from(user));
    }
    if rng.u64(..3) == 0 {
        let tenant = *pick(rng, &["acme", "globex", "other"]);
        extensions.insert(RequestTags::new().with_tenant(tenant));
    }
    if rng.u64(..10) == 0 {
        extensions.insert(authority.gray("next", "test"));
    }
    request
}

/// The decision that the layer takes for such a request.
fn decide(current: Current<'_>, request: &Request<()>) -> Result<Decision, PickError> {
    if let Some(evaluation) = current.evaluate(&RequestHead::of(request)) {
        return current.pick_by(&evaluation, usize::MAX);
    }
    let none = RequestTags::new();
    let tags = request.extensions().get().unwrap_or(&none);
    let pick = PickRequest::new().with_tags(tags);
    current.pick(&match request.extensions().get::<RoutingKey>() {
        Some(key) => pick.with_key(key.as_bytes()),
        None => pick,
    })
}

fn ids(decision: &Decision) -> Vec<String> {
    let candidates = decision.candidates();
    candidates
        .map(|candidate| candidate.instance().id().to_string())
        .collect()
}

fn compare(told: &Explanation, got: Result<Decision, PickError>, about: &str) -> bool {
    match (&told.key, got) {
        (_, Err(error)) => {
            assert!(told.refused.is_some(), "{about}{error}\n{told}");
            false
        }
        (Some(_), Ok(decision)) => {
            let got = ids(&decision);
            assert_eq!(told.candidates, got, "{about}{told}");
            assert_eq!(told.chosen, Some(decision.stage()), "{about}{told}");
            assert_eq!(told.is_spilled, decision.is_spilled(), "{about}{told}");
            assert_eq!(
                told.key.as_ref().and_then(|key| key.hash.clone()),
                decision
                    .key_hash()
                    .map(|hash| format!("{:016x}", hash.get())),
                "{about}{told}"
            );
            true
        }
        (None, Ok(decision)) => {
            // Who gets it is drawn; in which release it is, is drawn too, so that only this can be said.
            assert!(
                told.candidates.is_empty() && !ids(&decision).is_empty(),
                "{about}{told}"
            );
            false
        }
    }
}

#[tokio::test(start_paused = true)]
async fn explanations_tell_the_decisions_of_ten_thousand_random_requests() {
    let mut compared = 0;
    for seed in 0..WORLDS {
        let mut rng = Rng::with_seed(seed);
        let authority = TagAuthority::new();
        let source = StaticDiscovery::new().with_service(service(), instances(&mut rng));
        let attempts = usize::try_from(1 + rng.u64(..4)).expect("small");
        let config = BalancerConfig::default()
            .with_ring(ring(&mut rng))
            .with_max_attempts(attempts)
            .and_then(|config| config.with_panic_threshold(*pick(&mut rng, &[0, 50, 100])))
            .expect("legal");
        let mut builder = Balancer::builder(source, service()).with_config(config);
        let mut text = String::new();
        if rng.u64(..4) > 0 {
            text = policy(&mut rng);
            let context = PolicyContext::new()
                .with_zone("az-1")
                .with_authority(&authority);
            let policy = PolicyDocument::parse_and_compile(&text, &context);
            builder = builder.with_policy(policy.unwrap_or_else(|error| panic!("{error}\n{text}")));
        }
        let balancer = builder.build().expect("in a runtime");
        balancer.ready().await.expect("a list");
        for number in 0..REQUESTS {
            let request = request(&mut rng, &authority);
            let about = format!("seed {seed}, request {number}: {request:?}\n{text}\n");
            let (told, got) = balancer
                .read(|current| {
                    let told = current.explain(&RequestHead::of(&request));
                    (told, decide(current, &request))
                })
                .expect("it has a view");
            compared += usize::from(compare(&told, got, &about));
        }
    }
    assert!(compared >= SCENARIOS, "only {compared} had a key");
}

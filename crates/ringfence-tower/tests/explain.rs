//! What is explained is what happens.
#![allow(
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "all of it is tests"
)]

mod common;

use std::fmt::Write as _;

use bytes::Bytes;
use common::{Cluster, Once as _, config};
use http::Request;
use http_body_util::Empty;
use ringfence_balancer::{
    BalancerBuilder, Decision, FailureKind, Outcome, OutlierConfig, PickError, PickRequest,
    RingConfig,
};
use ringfence_core::Instance;
use ringfence_policy::{
    Explanation, GrayTag, PolicyContext, PolicyDocument, Refusal, RequestHead, TagAuthority,
    VerifiedClaims,
};
use ringfence_testkit::ProbeService;
use ringfence_tower::{ErrorKind, RequestTags, Ringfence, RoutingKey};

const WORLDS: u64 = 400;
const REQUESTS: u64 = 25;

/// Numbers that a seed gives.
struct Dice(fastrand::Rng);

impl Dice {
    fn one_in(&mut self, n: u32) -> bool {
        self.0.u32(..n) == 0
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.0.usize(..all.len())]
    }
}

const VERSIONS: &[&str] = &["", "stable", "gray", "canary", "v2"];
const ZONES: &[&str] = &["", "a", "b", "c"];
const TENANTS: &[&str] = &["", "acme", "globex", "initech", "hooli"];

fn fleet(dice: &mut Dice) -> Vec<Instance> {
    let count = if dice.one_in(10) {
        0
    } else {
        dice.0.usize(4..20)
    };
    let each = (0..count).map(|n| {
        let mut instance = Instance::builder(format!("i-{n}"), format!("i-{n}:80"))
            .weight(dice.of(&[0, 1, 100, 100, 100, 300]))
            .healthy(!dice.one_in(6))
            .enabled(!dice.one_in(12))
            .version(dice.of(VERSIONS))
            .zone(dice.of(ZONES));
        if dice.one_in(4) {
            instance = instance.tag("tenant", dice.of(&["acme", "globex"]));
        }
        if dice.one_in(5) {
            instance = instance.tag("lane", "blue");
        }
        instance.build().unwrap()
    });
    each.collect()
}

fn document(dice: &mut Dice) -> String {
    let mut text = String::from("ringfence: 1\n");
    let modes = [
        "enforce",
        "enforce",
        "enforce",
        "{ enforce_percent: 50 }",
        "observe",
        "off",
    ];
    let mode = if dice.one_in(3) {
        dice.of(&modes)
    } else {
        "enforce"
    };
    let (local, spill) = (dice.of(&[true, true, false]), dice.of(&[0, 100, 500]));
    writeln!(text, "mode: {mode}").unwrap();
    writeln!(
        text,
        "zone: {{ prefer_local: {local}, spill_permille: {{ a: {spill}, b: {spill}, c: {spill} }} }}"
    )
    .unwrap();
    let otherwise = dice.of(&["baseline", "fail"]);
    let enabled = dice.of(&[true, true, false]);
    let percent = dice.of(&[0, 20, 100]);
    writeln!(
        text,
        "gray:\n  next: {{ to: {{ version: gray }}, percent: {percent}, tenants: [hooli], enabled: {enabled}, else: {otherwise} }}\n  lane: {{ to: {{ lane: blue }}, percent: 10 }}"
    )
    .unwrap();
    let strict = dice.of(&[true, false]);
    let others = dice.of(&[
        "{ mode: shared }",
        "{ mode: salted }",
        "{ mode: shuffle_shard, size: 2 }",
    ]);
    writeln!(
        text,
        "tenants:\n  acme: {{ mode: dedicated, strict: {strict} }}\n  globex: {{ mode: own_ring }}\n  default: {others}"
    )
    .unwrap();
    text.push_str("rules:\n");
    for (name, matches) in [
        ("one", "[{ path: { prefix: /one } }]"),
        (
            "two",
            "[{ methods: [POST] }, { headers: { x-env: { exact: blue } } }]",
        ),
        ("rest", ""),
    ] {
        writeln!(text, "  - name: {name}").unwrap();
        if !matches.is_empty() {
            writeln!(text, "    match: {matches}").unwrap();
        }
        let keys = [
            "[{ extension: {} }]",
            "[{ header: x-user, normalise: [trim, case_fold_ascii] }, { cookie: sid }]",
            "[{ all: [{ header: x-tenant }, { header: x-user }] }, { path_segment: 1 }]",
            "[{ claim: sub }, { query: user, normalise: [percent_decode_unreserved] }]",
        ];
        let key = dice.of(&keys);
        let missing = dice.of(&["p2c", "round_robin", "random", "reject"]);
        let trusted = dice.of(&[true, false]);
        let attempts = dice.0.u32(1..6);
        let longest = dice.of(&[4, 1_024, 1_024, 1_024]);
        writeln!(
            text,
            "    key: {key}\n    missing_key: {missing}\n    tags_from_headers: {{ x-tenant: {{ tag: tenant, trusted: {trusted} }} }}\n    limits: {{ max_attempts: {attempts}, max_key_len: {longest} }}"
        )
        .unwrap();
        let gray = dice.of(&["[]", "[next]", "[next, lane]", "[lane, next]"]);
        writeln!(text, "    gray: {gray}").unwrap();
        let pools = [
            "[]",
            "[{ require: { version: stable }, min_usable: 2, min_share: 40 }, {}]",
            "[{ require: { zone: local } }, { prefer: { version: stable } }]",
            "[{ require: { version: { from: request } } }, {}]",
        ];
        writeln!(text, "    pools: {}", dice.of(&pools)).unwrap();
        if dice.one_in(4) {
            writeln!(text, "    strict: true").unwrap();
        }
    }
    text
}

fn request(dice: &mut Dice, ours: &TagAuthority) -> Request<Empty<Bytes>> {
    let user = dice.0.u32(..50);
    let path = dice.of(&["/one/x", "/two", "/", "/one?user=%41lice&x=1"]);
    let method = dice.of(&["GET", "POST"]);
    let mut request = Request::builder()
        .method(method)
        .uri(path)
        .body(Empty::new())
        .unwrap();
    let headers = request.headers_mut();
    if !dice.one_in(4) {
        headers.insert("x-user", format!("User-{user}").parse().unwrap());
    }
    if dice.one_in(3) {
        headers.insert("x-tenant", dice.of(&TENANTS[1..]).parse().unwrap());
    }
    if dice.one_in(4) {
        headers.insert("x-env", "blue".parse().unwrap());
    }
    if dice.one_in(4) {
        headers.insert("cookie", format!("a=b; sid={user}").parse().unwrap());
    }
    let extensions = request.extensions_mut();
    if dice.one_in(2) {
        extensions.insert(RoutingKey::from(format!("key-{user}")));
    }
    if dice.one_in(3) {
        let claims: VerifiedClaims = [("sub", format!("sub-{user}"))].into_iter().collect();
        extensions.insert(claims);
    }
    if dice.one_in(3) {
        let tags = RequestTags::new()
            .with_tenant(dice.of(TENANTS))
            .with_version(dice.of(VERSIONS));
        extensions.insert(tags);
    }
    let forged = TagAuthority::new();
    let by = if dice.one_in(3) { &forged } else { ours };
    if dice.one_in(4) {
        let tag: GrayTag = by.gray(dice.of(&["next", "lane", "none"]), "tester");
        extensions.insert(tag);
    }
    if dice.one_in(6) {
        let tags = RequestTags::new().with_tenant(dice.of(TENANTS));
        extensions.insert(by.tags(tags, "tester"));
    }
    request
}

/// Takes some instances out, as failures do.
async fn eject(dice: &mut Dice, cluster: &Cluster) {
    let Ok(decision) = cluster.balancer.pick(&PickRequest::new()) else {
        return;
    };
    for candidate in decision.candidates().take(dice.0.usize(..3)) {
        let mut attempt = candidate.begin();
        attempt.report(Outcome::Failure(FailureKind::Connect));
    }
    // The task judges what was reported.
    tokio::time::sleep(std::time::Duration::from_millis(1)).await;
}

/// The pick that the layer makes.
fn picked(cluster: &Cluster, request: &Request<Empty<Bytes>>) -> Result<Decision, PickError> {
    let head = RequestHead::of(request);
    let decision = cluster.balancer.read(|current| {
        let evaluation = current.evaluate(&head)?;
        Some(current.pick_by(&evaluation, usize::MAX))
    })?;
    decision.unwrap_or_else(|| {
        let mut pick = PickRequest::new();
        if let Some(key) = request.extensions().get::<RoutingKey>() {
            pick = pick.with_key(key.as_bytes());
        }
        if let Some(tags) = request.extensions().get::<RequestTags>() {
            pick = pick.with_tags(tags);
        }
        cluster.balancer.pick(&pick)
    })
}

fn assert_explained(explanation: &Explanation, picked: Result<Decision, PickError>) {
    let decision = match picked {
        Ok(decision) => decision,
        Err(PickError::NoInstances { tried, .. }) => {
            assert_eq!(explanation.refused, Some(Refusal::NoInstances));
            assert_eq!(explanation.stages.len(), tried.len());
            return;
        }
        Err(PickError::KeyRequired { .. }) => {
            assert_eq!(explanation.refused, Some(Refusal::KeyRequired));
            return;
        }
        Err(error) => panic!("{error}"),
    };
    assert_eq!(explanation.refused, None);
    assert_eq!(explanation.epoch, decision.epoch());
    let candidates: Vec<_> = decision
        .candidates()
        .map(|candidate| candidate.instance().id().to_string())
        .collect();
    let Some(hash) = decision.key_hash() else {
        assert!(
            explanation.candidates.is_empty(),
            "a key was explained and none was there"
        );
        // Whether a request without a key spills is drawn anew for each.
        let spills = explanation.stages.iter().any(|stage| stage.spilled > 0);
        assert!(spills || explanation.chosen == Some(decision.stage()));
        return;
    };
    assert_eq!(explanation.candidates, candidates);
    assert_eq!(explanation.chosen, Some(decision.stage()));
    assert_eq!(explanation.is_spilled, decision.is_spilled());
    let key = explanation.key.as_ref().unwrap();
    assert_eq!(key.hash, Some(format!("{:016x}", hash.get())));
    let walked = explanation
        .walk
        .iter()
        .filter(|step| step.verdict.starts_with("candidate"));
    assert!(walked.map(|step| &step.instance).eq(&candidates));
}

/// The layer's answer goes to the first candidate, or fails for the same reason.
async fn assert_called(
    explanation: &Explanation,
    client: &Ringfence<ProbeService>,
    probe: &ProbeService,
    request: Request<Empty<Bytes>>,
) {
    let calls = probe.calls().len();
    let answer = client.clone().once(request).await;
    let made = probe.calls().split_off(calls);
    match explanation.refused {
        None => {
            answer.unwrap();
            let target = made[0].uri.host().unwrap().to_owned();
            if let Some(first) = explanation.candidates.first() {
                assert_eq!(*first, target);
            }
        }
        Some(refusal) => {
            let kind = match refusal {
                Refusal::KeyRequired => ErrorKind::KeyRequired,
                _ => ErrorKind::NoInstances,
            };
            assert_eq!(answer.unwrap_err().kind(), kind);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_scenarios_are_explained_as_they_happen() {
    let mut seen = Seen::default();
    for seed in 0..WORLDS {
        let mut dice = Dice(fastrand::Rng::with_seed(seed));
        let fleet = fleet(&mut dice);
        let text = document(&mut dice);
        let ours = TagAuthority::new();
        let zone = dice.of(ZONES);
        let context = PolicyContext::new().with_authority(&ours).with_zone(zone);
        let policy = PolicyDocument::parse_and_compile(&text, &context);
        let policy = policy.unwrap_or_else(|error| panic!("seed {seed}: {error}\n{text}"));
        let outlier = OutlierConfig::default().with_consecutive_failures(1);
        let attempts = dice.0.usize(1..5);
        let longest = dice.of(&[6, 1_024, 1_024, 1_024]);
        // Few points make it quick, and rings of one point odd.
        let points = dice.of(&[1, 16, 40]);
        let ring = RingConfig::default().with_points_per_instance(points);
        let settings = config()
            .with_ring(ring.unwrap())
            .with_outlier(outlier.with_max_ejection_percent(60).unwrap())
            .with_max_attempts(attempts)
            .unwrap()
            .with_max_key_len(longest)
            .unwrap();
        let set_up = |balancer: BalancerBuilder| balancer.with_config(settings).with_policy(policy);
        let cluster = Cluster::build(fleet, set_up).await;
        eject(&mut dice, &cluster).await;
        let probe = ProbeService::new();
        let client = cluster.layer().wrap(probe.clone());
        for n in 0..REQUESTS {
            let request = request(&mut dice, &ours);
            let explanation = cluster
                .balancer
                .explain(&RequestHead::of(&request))
                .unwrap();
            let _scenario = Scenario(|| {
                format!("seed {seed}, request {n} in zone {zone:?} by\n{text}\n{explanation}")
            });
            assert_explained(&explanation, picked(&cluster, &request));
            // Without a key it is drawn anew for each request whether it is in the share.
            let drawn = explanation.key.is_none() && text.contains("enforce_percent");
            if !drawn && !decided_by_the_baseline(&explanation) {
                assert_called(&explanation, &client, &probe, request).await;
            }
            seen.note(&explanation);
        }
    }
    seen.assert_enough();
}

/// Tells of the scenario in which a test failed.
struct Scenario<F: Fn() -> String>(F);

impl<F: Fn() -> String> Drop for Scenario<F> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("{}", self.0());
        }
    }
}

/// Then the explanation tells what the policy would do, and not what is done.
fn decided_by_the_baseline(explanation: &Explanation) -> bool {
    explanation.rule != Explanation::NO_RULE
        && explanation.decides != ringfence_policy::Decides::Policy
}

/// That the scenarios are not all of one kind.
#[derive(Debug, Default)]
struct Seen {
    all: u64,
    keyed: u64,
    refused: u64,
    gray: u64,
    tenants: u64,
    fallbacks: u64,
    spilled: u64,
    ejected: u64,
    without_rule: u64,
}

impl Seen {
    fn note(&mut self, explanation: &Explanation) {
        let skipped = |verdict| explanation.walk.iter().any(|step| step.verdict == verdict);
        self.all += 1;
        self.keyed += u64::from(!explanation.candidates.is_empty());
        self.refused += u64::from(explanation.refused.is_some());
        self.gray += u64::from(explanation.gray.is_some());
        self.tenants += u64::from(explanation.tenant.is_some());
        self.fallbacks += u64::from(explanation.chosen > Some(0) && !explanation.is_spilled);
        self.spilled += u64::from(explanation.is_spilled);
        self.ejected += u64::from(skipped("ejected"));
        self.without_rule += u64::from(explanation.rule == Explanation::NO_RULE);
    }

    fn assert_enough(&self) {
        assert_eq!(self.all, 10_000);
        let kinds = [
            self.keyed,
            self.refused,
            self.gray,
            self.tenants,
            self.fallbacks,
            self.spilled,
            self.ejected,
            self.without_rule,
        ];
        assert!(kinds.iter().all(|count| *count >= 100), "{self:?}");
    }
}

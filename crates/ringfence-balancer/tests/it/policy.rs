use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use ringfence_balancer::{
    Balancer, BalancerConfig, CompiledPolicy, MissingKey, PickError, PickRequest,
};
use ringfence_core::{
    Attribute, Instance, Match, PlanId, RequestTags, RoutePlan, RoutePlans, ShardSeed, Spill,
    StageTemplate, TagValues, name_seed,
};

use ringfence_policy::{PolicyContext, PolicyDocument, Refusal, RequestHead};

use crate::support::*;

const FIRST: usize = 0;
const SECOND: usize = 1;

fn policy<const N: usize>(
    plans: impl IntoIterator<Item = [StageTemplate; N]>,
) -> Arc<CompiledPolicy> {
    let plans = plans.into_iter().map(RoutePlan::of_stages);
    let plans = plans.collect::<Result<RoutePlans, _>>().expect("legal");
    Arc::new(CompiledPolicy::of_plans(plans))
}

fn version(version: &str) -> StageTemplate {
    StageTemplate::any().and(Attribute::Version, Match::is(version))
}

fn colours() -> impl Iterator<Item = Instance> {
    (0..20).map(|n| {
        let colour = ["blue", "green"][n % 2];
        instance(n)
            .to_builder()
            .version(colour)
            .build()
            .expect("valid")
    })
}

fn first(key: &str) -> PickRequest<'_> {
    PickRequest::new()
        .with_plan(PlanId::nth(FIRST))
        .with_key(key)
}

async fn set(balancer: &Balancer, policy: &Arc<CompiledPolicy>) {
    balancer.set_policy(Arc::clone(policy));
    settle().await;
    let now = balancer.policy().expect("there is one");
    assert!(Arc::ptr_eq(&now, policy));
}

fn ids(balancer: &Balancer, request: &PickRequest<'_>) -> Vec<String> {
    let decision = balancer.pick(request).expect("some");
    decision
        .candidates()
        .map(|c| c.instance().id().to_string())
        .collect()
}

#[tokio::test(start_paused = true)]
async fn a_policy_comes_with_a_view_of_a_higher_epoch() {
    let balancer = balancer(&registry(colours()), BalancerConfig::default()).await;
    assert!(balancer.policy().is_none());
    assert!(
        matches!(balancer.pick(&first("k")), Err(PickError::NoInstances { tried, .. }) if tried.is_empty()),
        "no policy, no plan"
    );
    let before = balancer
        .pick(&PickRequest::new().with_key("k"))
        .expect("one");
    for (n, colour) in ["blue", "green"].into_iter().enumerate() {
        let epoch = balancer.status().epoch;
        set(&balancer, &policy([[version(colour)]])).await;
        let decision = balancer.pick(&first("k")).expect("one");
        assert_eq!(decision.instance().version(), Some(colour));
        assert_eq!(decision.plan(), PlanId::nth(FIRST));
        assert_eq!(decision.pool().to_string(), format!("version={colour}"));
        assert!(decision.epoch() > epoch);
        let counters = balancer.status().counters;
        assert_eq!(
            (counters.policies_applied, counters.policies_failed),
            (n as u64 + 1, 0)
        );
    }
    let after = balancer
        .pick(&PickRequest::new().with_key("k"))
        .expect("one");
    assert_eq!(
        before.instance().id(),
        after.instance().id(),
        "the routing is not touched"
    );
    assert_eq!(after.plan(), PlanId::ROUTING);
}

#[tokio::test(start_paused = true)]
async fn the_first_view_has_the_policy_that_was_given_or_set_before_it() {
    let given = policy([[version("blue")]]);
    let build = || {
        Balancer::builder(registry(colours()), service())
            .with_policy(Arc::clone(&given))
            .build()
            .expect("in a runtime")
    };
    let balancer = build();
    balancer.ready().await.expect("ready");
    assert!(Arc::ptr_eq(&balancer.policy().expect("given"), &given));
    assert_eq!(balancer.status().epoch, 1);

    let later = policy([[version("green")]]);
    let balancer = build();
    balancer.set_policy(Arc::clone(&later));
    balancer.ready().await.expect("ready");
    settle().await;
    assert!(Arc::ptr_eq(&balancer.policy().expect("set"), &later));
    let decision = balancer.pick(&first("k")).expect("one");
    assert_eq!(decision.instance().version(), Some("green"));
}

#[tokio::test(start_paused = true)]
async fn the_same_policy_again_changes_nothing() {
    let balancer = balancer(&registry(colours()), BalancerConfig::default()).await;
    let blue = policy([[version("blue")]]);
    set(&balancer, &blue).await;
    let epoch = balancer.status().epoch;
    set(&balancer, &blue).await;
    assert_eq!(balancer.status().epoch, epoch);
}

/// A request sees the plans of one policy with the pools that were made for it (B54).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_see_whole_policies_while_they_are_swapped() {
    const SWAPS: usize = 300;
    let registry = registry(colours());
    let config = BalancerConfig::default().with_update_merge_window(Duration::ZERO);
    let balancer = balancer(&registry, config.expect("valid")).await;
    // What one calls its first plan is the other's second one.
    let policies = [["blue", "green"], ["green", "blue"]]
        .map(|colours| policy(colours.map(|colour| [version(colour)])));
    set_and_wait(&balancer, &policies[0]);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let (mut seen, mut last) = (BTreeSet::new(), 0);
                    for n in 0.. {
                        if done.load(Ordering::Relaxed) {
                            break;
                        }
                        let key = key(n);
                        let plan = PlanId::nth(n % 2);
                        let request = PickRequest::new().with_plan(plan).with_key(&key);
                        let decision = balancer.pick(&request).expect("never empty");
                        assert!(decision.epoch() >= last, "epochs only rise");
                        last = decision.epoch();
                        let versions: BTreeSet<_> = decision
                            .candidates()
                            .map(|c| c.instance().version().map(str::to_owned))
                            .collect();
                        assert_eq!(versions.len(), 1);
                        seen.insert((n % 2, versions));
                    }
                    seen.len()
                })
            })
            .collect();
        for n in 1..=SWAPS {
            set_and_wait(&balancer, &policies[n % 2]);
        }
        done.store(true, Ordering::Relaxed);
        for reader in readers {
            assert_eq!(
                reader.join().expect("no panic"),
                4,
                "both plans of both policies"
            );
        }
    });
    assert_eq!(
        balancer.status().counters.policies_applied,
        SWAPS as u64 + 1
    );
}

fn set_and_wait(balancer: &Balancer, policy: &Arc<CompiledPolicy>) {
    balancer.set_policy(Arc::clone(policy));
    let start = std::time::Instant::now();
    while balancer
        .policy()
        .is_none_or(|now| !Arc::ptr_eq(&now, policy))
    {
        assert!(start.elapsed() < Duration::from_secs(20), "never");
        std::thread::yield_now();
    }
}

/// Whatever clients send, only so much is kept; what the policy names stays.
#[tokio::test(start_paused = true)]
async fn routes_of_a_policy_are_bounded_and_its_own_ones_stay() {
    let sharded = StageTemplate::any().with_shard(2, ShardSeed::tenant());
    let policy = policy([
        [sharded.expect("valid")],
        [StageTemplate::any().with_ring_seed(name_seed("acme"))],
    ]);
    let config = BalancerConfig::default().with_max_pools(10).expect("valid");
    let balancer = balancer(&registry((0..20).map(instance)), config).await;
    set(&balancer, &policy).await;
    let mut shards = BTreeSet::new();
    for n in 0..1_000 {
        let tags = RequestTags::new()
            .with_tenant(format!("tenant-{n}"))
            .with_tag("noise", n.to_string());
        shards.insert(ids(&balancer, &first("k").with_tags(&tags)));
        tokio::time::sleep(Duration::from_millis(40)).await;
        let own = PickRequest::new()
            .with_plan(PlanId::nth(SECOND))
            .with_tags(&tags);
        balancer.pick(&own.with_key("k")).expect("one");
    }
    assert!(shards.len() > 100, "{} different shards", shards.len());
    let status = balancer.status();
    assert!(balancer.view().expect("ready").routes().len() <= 10);
    assert!(status.counters.routes_evicted > 900, "{status:?}");
    assert!(status.pools <= 10 + 3, "{status:?}");
    assert!(
        status.counters.picks_unprepared <= 1_000,
        "the ring of its own needs no preparation: {status:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_policy_takes_its_routes_with_it() {
    let local = || StageTemplate::any().and_requested(Attribute::Version);
    let balancer = balancer(&registry(colours()), BalancerConfig::default()).await;
    set(&balancer, &policy([[local()]])).await;
    let tags = RequestTags::new().with_version("blue");
    for request in [first("k"), PickRequest::new().with_key("k")] {
        balancer.pick(&request.with_tags(&tags)).expect("one");
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    let routes = |balancer: &Balancer| balancer.view().expect("ready").routes().len();
    assert_eq!(routes(&balancer), 2);
    set(&balancer, &policy([[version("green")]])).await;
    assert_eq!(routes(&balancer), 1, "that of the routing stays");
    let decision = balancer.pick(&first("k").with_tags(&tags)).expect("one");
    assert_eq!(decision.instance().version(), Some("green"));
}

/// A key that leaves its zone is counted as that, not as a fallback.
#[tokio::test(start_paused = true)]
async fn what_spills_over_is_told_and_counted() {
    let spill = Spill::default().with_permille(300).expect("valid");
    let (here, there) = (version("blue").with_spill(spill), version("green"));
    let balancer = balancer(&registry(colours()), BalancerConfig::default()).await;
    set(&balancer, &policy([[here, there]])).await;
    let mut spilled = 0;
    for n in 0..10_000 {
        let key = key(n);
        let request = first(&key);
        let decision = balancer.pick(&request).expect("one");
        assert_eq!(decision.is_spilled(), Spill::takes(300, 0, key.as_bytes()));
        assert_eq!(decision.stage(), usize::from(decision.is_spilled()));
        let owners = balancer.owners(&request, 1).expect("one");
        assert_eq!(owners[0].instance().id(), decision.instance().id());
        spilled += u64::from(decision.is_spilled());
    }
    let keyless = PickRequest::new().with_plan(PlanId::nth(FIRST));
    for _ in 0..10_000 {
        spilled += u64::from(balancer.pick(&keyless).expect("one").is_spilled());
    }
    assert!((5_600..6_400).contains(&spilled), "{spilled} of 20,000");
    let counters = balancer.status().counters;
    assert_eq!(
        (counters.picks_spilled, counters.picks_fallback),
        (spilled, 0)
    );
}

#[tokio::test(start_paused = true)]
async fn a_salt_moves_keys_independently() {
    let balancer = balancer(&registry((0..10).map(instance)), BalancerConfig::default()).await;
    let owners = |salt| {
        let keys = (0..2_000).map(key);
        let owner = |key: String| {
            let request = PickRequest::new().with_key(&key).with_salt(salt);
            ids(&balancer, &request).swap_remove(0)
        };
        keys.map(owner).collect::<Vec<_>>()
    };
    let (none, acme) = (owners(0), owners(name_seed("acme")));
    assert_eq!(owners(name_seed("acme")), acme);
    let same = none.iter().zip(&acme).filter(|(a, b)| a == b).count();
    assert!((100..300).contains(&same), "{same} of 2,000, ideal 200");
}

/// Tags as a policy has them, without [`RequestTags`].
struct Zone(&'static str);

impl TagValues for Zone {
    fn value(&self, attribute: &Attribute) -> Option<&str> {
        (*attribute == Attribute::Zone).then_some(self.0)
    }

    fn each(&self, visit: &mut dyn FnMut(&Attribute, &str)) {
        visit(&Attribute::Zone, self.0);
    }

    fn is_untagged(&self) -> bool {
        false
    }
}

#[tokio::test(start_paused = true)]
async fn tags_can_stay_where_they_are() {
    let zoned = (0..10).map(|n| {
        instance(n)
            .to_builder()
            .zone(["a", "b"][n % 2])
            .build()
            .expect("valid")
    });
    let balancer = balancer(&registry(zoned), BalancerConfig::default()).await;
    let local = StageTemplate::any().and_requested(Attribute::Zone);
    set(&balancer, &policy([[local]])).await;
    let (zone, made) = (Zone("b"), RequestTags::new().with_zone("b"));
    for plan in [PlanId::ROUTING, PlanId::nth(FIRST)] {
        let request = PickRequest::new().with_plan(plan).with_key("k");
        let elsewhere = request.with_tag_values(&zone);
        let unprepared = ids(&balancer, &elsewhere);
        tokio::time::sleep(Duration::from_secs(1)).await;
        let before = balancer.status().counters.picks_unprepared;
        assert_eq!(ids(&balancer, &elsewhere), unprepared);
        assert_eq!(ids(&balancer, &request.with_tags(&made)), unprepared);
        assert_eq!(balancer.status().counters.picks_unprepared, before);
        assert!(format!("{elsewhere:?}").contains("\"b\""), "{elsewhere:?}");
    }
}

const DOCUMENT: &str = "
ringfence: 1
gray:
  next: { to: { version: blue }, percent: 30 }
tenants:
  acme: { mode: salted }
  globex: { mode: own_ring }
  default: { mode: shuffle_shard, size: 3 }
rules:
  - name: all
    key: [{ header: x-user }]
    gray: [next]
    limits: { max_attempts: 2 }
";

#[tokio::test(start_paused = true)]
async fn a_document_is_picked_by_as_it_explains() {
    let balancer = balancer(&registry(colours()), BalancerConfig::default()).await;
    let policy = PolicyDocument::parse_and_compile(DOCUMENT, &PolicyContext::new()).expect("legal");
    set(&balancer, &Arc::new(policy)).await;
    let (policy, view) = (
        balancer.policy().expect("set"),
        balancer.view().expect("ready"),
    );
    for (n, tenant) in ["", "acme", "globex", "initech"]
        .iter()
        .cycle()
        .take(400)
        .enumerate()
    {
        let request = http::Request::get("/").header("x-user", format!("user-{n}"));
        let mut request = request.body(()).expect("legal");
        request
            .extensions_mut()
            .insert(RequestTags::new().with_tenant(tenant));
        let head = RequestHead::of(&request);
        let evaluation = policy.evaluate(&head, 0).expect("not off");
        let pick = PickRequest::new()
            .with_plan(evaluation.plan)
            .with_tag_values(&evaluation.tags)
            .with_salt(evaluation.salt)
            .with_max_candidates(2)
            .with_key(evaluation.key_bytes().expect("there is one"));
        let explanation = policy.explain(&head, 0, &view, 3).expect("not off");
        assert_eq!(
            ids(&balancer, &pick),
            explanation.candidates,
            "{explanation}"
        );
    }
}

/// A policy that says nothing of missing keys is no reason to let requests without one through.
#[tokio::test(start_paused = true)]
async fn what_happens_without_a_key_the_rule_says_or_else_the_settings() {
    let document = "{ ringfence: 1, rules: [\
        { name: silent, match: [{ path: { exact: /silent } }] },\
        { name: lax, match: [{ path: { exact: /lax } }], missing_key: p2c },\
        { name: strict, match: [{ path: { exact: /strict } }], missing_key: reject }] }";
    let policy = PolicyDocument::parse_and_compile(document, &PolicyContext::new());
    let policy = Arc::new(policy.expect("legal"));
    for (setting, refused) in [
        (
            MissingKey::Reject,
            ["/silent", "/strict", "/unmatched"].as_slice(),
        ),
        (MissingKey::P2c, &["/strict"]),
    ] {
        let config = BalancerConfig::default().with_missing_key(setting);
        let balancer = balancer(&registry((0..3).map(instance)), config).await;
        set(&balancer, &policy).await;
        for path in ["/silent", "/lax", "/strict", "/unmatched"] {
            let request = http::Request::get(path).body(()).expect("legal");
            let head = RequestHead::of(&request);
            let picked = balancer.read(|current| {
                let evaluation = current.evaluate(&head).expect("not off");
                current.pick_by(&evaluation, usize::MAX).map(|_| ())
            });
            let is_refused = match picked.expect("ready") {
                Ok(()) => false,
                Err(PickError::KeyRequired { .. }) => true,
                Err(error) => panic!("{error}"),
            };
            assert_eq!(
                is_refused,
                refused.contains(&path),
                "{path} with {setting:?}"
            );
            let explanation = balancer.explain(&head).expect("ready");
            let explained = explanation.refused == Some(Refusal::KeyRequired);
            assert_eq!(explained, is_refused, "{explanation}");
        }
    }
}

/// Keys that an algorithm keeps in one slot are different keys of a cache all the same.
#[tokio::test(start_paused = true)]
async fn a_comparison_tells_keys_of_one_slot_apart() {
    let text = "
ringfence: 1
mode: observe
ring: { algorithm: slots }
rules: [{ name: all, key: [{ header: x-user }] }]
";
    let policy = PolicyDocument::parse_and_compile(text, &PolicyContext::new()).expect("legal");
    let balancer = Balancer::builder(registry((0..9).map(instance)), service())
        .with_policy(policy)
        .build()
        .expect("in a runtime");
    balancer.ready().await.expect("the registry answers");
    let mut owners = BTreeSet::new();
    for n in 0..50 {
        let request = http::Request::get("/").header("x-user", format!("{{alice}}-{n}"));
        let request = request.body(()).expect("legal");
        let suggestion = balancer.read(|current| {
            let evaluation = current.evaluate(&RequestHead::of(&request))?;
            Some(current.suggest(&evaluation))
        });
        let suggestion = suggestion.expect("ready").expect("the policy is on");
        owners.insert(suggestion.instance().expect("one").id().to_string());
        balancer.observed(&suggestion, None);
    }
    assert_eq!(owners.len(), 1, "one slot");
    let hits = balancer.observe_report().suggested_hits;
    assert_eq!((hits.asked, hits.hits), (50, 0));
}

/// What two policies would do is not added up, and a request that ends late does not bring the earlier one back.
#[tokio::test(start_paused = true)]
async fn a_comparison_is_of_one_policy() {
    let policy = |name: &str, mode: &str| {
        let text = format!(
            "{{ ringfence: 1, mode: {mode}, rules: [{{ name: {name}, key: [{{ header: x-user }}] }}] }}"
        );
        let compiled = PolicyDocument::parse_and_compile(&text, &PolicyContext::new());
        Arc::new(compiled.expect("legal"))
    };
    let [first, second, third] = [("a", "observe"), ("b", "observe"), ("b", "enforce")]
        .map(|(name, mode)| policy(name, mode));
    let balancer = Balancer::builder(registry((0..3).map(instance)), service())
        .with_policy(Arc::clone(&first))
        .build()
        .expect("in a runtime");
    balancer.ready().await.expect("the registry answers");
    let suggest = || {
        let request = http::Request::get("/").header("x-user", "alice");
        let request = request.body(()).expect("legal");
        let suggestion = balancer.read(|current| {
            let evaluation = current.evaluate(&RequestHead::of(&request))?;
            Some(current.suggest(&evaluation))
        });
        suggestion.expect("ready").expect("the policy is on")
    };
    let told = || {
        let report = balancer.observe_report();
        (report.policy, report.requests)
    };
    let name = |policy: &CompiledPolicy| format!("{:016x}", policy.fingerprint());
    assert_eq!(told(), (String::new(), 0));
    let late = suggest();
    for _ in 0..3 {
        balancer.observed(&suggest(), None);
    }
    assert_eq!(told(), (name(&first), 3));

    set(&balancer, &second).await;
    assert_eq!(told(), (name(&first), 3), "until there is something to say");
    balancer.observed(&suggest(), None);
    balancer.observed(&late, None);
    assert_eq!(told(), (name(&second), 1));
    let text = balancer.observe_report().to_string();
    assert!(
        text.starts_with(&format!("policy {}: 1 requests", name(&second))),
        "{text}"
    );

    set(&balancer, &third).await;
    assert_eq!(told(), (name(&second), 1), "to be read after its end");
    set(&balancer, &first).await;
    balancer.observed(&suggest(), None);
    assert_eq!(told(), (name(&first), 1));
}

/// A pool that asks for the client's own zone is left out where nobody named that.
#[tokio::test(start_paused = true)]
async fn a_rule_whose_pools_ask_for_what_is_not_known_says_so() {
    let text = "{ ringfence: 1, rules: [{ name: a, pools: [{ require: { zone: local } }] }] }";
    let policy = PolicyDocument::parse_and_compile(text, &PolicyContext::new()).expect("legal");
    let balancer = Balancer::builder(registry((0..3).map(instance)), service())
        .with_policy(policy)
        .build()
        .expect("in a runtime");
    balancer.ready().await.expect("the registry answers");
    let request = http::Request::get("/").body(()).expect("legal");
    let picked = balancer.read(|current| {
        let evaluation = current.evaluate(&RequestHead::of(&request))?;
        Some(current.pick_by(&evaluation, usize::MAX).map(|_| ()))
    });
    let error = picked.expect("ready").expect("the policy is on");
    let told = error.expect_err("nobody serves").to_string();
    assert!(
        told.contains("of 3 registered; every pool asks for what is not known"),
        "{told}"
    );
}

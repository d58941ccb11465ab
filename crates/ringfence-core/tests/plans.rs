//! What must hold for every plan of stages and every set of instances.
#![allow(
    clippy::expect_used,
    reason = "helpers of tests, where a failure is to end the test"
)]

use std::{collections::BTreeSet, sync::Arc};

use proptest::prelude::*;
use ringfence_core::{
    Absence, Attribute, Instance, KeyHash, Match, PlanId, PoolView, RequestTags, RingConfig,
    RoutePlan, RoutePlans, ShardSeed, Snapshot, Spill, StageTemplate, StepVerdict, TagRouting,
    View, ViewConfig,
};

const VERSIONS: [&str; 4] = ["", "stable", "gray", "canary"];
const ZONES: [&str; 3] = ["", "a", "b"];
const TENANTS: [&str; 3] = ["", "acme", "globex"];
const PLAN: usize = 0;

/// Every fourth is ejected.
fn is_out(place: usize) -> Option<Absence> {
    (place % 4 == 3).then_some(Absence::Ejected)
}

fn instances() -> impl Strategy<Value = Snapshot> {
    let kind = (
        (0..VERSIONS.len(), 0..ZONES.len(), 0..TENANTS.len(), 0..4_u8),
        prop_oneof![4 => 1_u32..300, 1 => Just(0)],
        prop::bool::weighted(0.7),
        prop::bool::weighted(0.9),
    );
    prop::collection::btree_map("[a-z0-9]{1,6}", kind, 1..16).prop_map(|fleet| {
        let instances = fleet.into_iter().map(
            |(id, ((version, zone, tenant, gray), weight, healthy, enabled))| {
                Instance::builder(id, "10.0.0.1:80")
                    .version(VERSIONS[version])
                    .zone(ZONES[zone])
                    .tag("tenant", TENANTS[tenant])
                    .tag("gray", if gray == 0 { "true" } else { "" })
                    .weight(weight)
                    .healthy(healthy)
                    .enabled(enabled)
                    .build()
                    .expect("legal")
            },
        );
        instances.collect()
    })
}

fn asked() -> impl Strategy<Value = RequestTags> {
    let values = (0..VERSIONS.len(), 0..ZONES.len(), 0..TENANTS.len());
    values.prop_map(|(version, zone, tenant)| {
        RequestTags::new()
            .with_version(VERSIONS[version])
            .with_zone(ZONES[zone])
            .with_tenant(TENANTS[tenant])
    })
}

/// What a stage is beside its start.
#[derive(Clone, Debug)]
struct Extras {
    version: Option<usize>,
    zone: u8,
    of_tenant: bool,
    min_usable: usize,
    min_share: u8,
    strict: bool,
    shard: Option<(u32, Option<u64>)>,
    spill: Option<u16>,
}

fn extras() -> impl Strategy<Value = Extras> {
    let conditions = (
        prop::option::weighted(0.3, 1..VERSIONS.len()),
        0..3_u8,
        prop::bool::weighted(0.3),
    );
    let needs = (1..3_usize, prop_oneof![2 => Just(0_u8), 1 => 0..=100_u8]);
    let shard = prop::option::weighted(0.4, (1..5_u32, prop::option::of(any::<u64>())));
    let spill = prop::option::weighted(0.4, 0..=1_000_u16);
    (conditions, needs, prop::bool::weighted(0.2), shard, spill).prop_map(
        |((version, zone, of_tenant), (min_usable, min_share), strict, shard, spill)| Extras {
            version,
            zone,
            of_tenant,
            min_usable,
            min_share,
            strict,
            shard,
            spill,
        },
    )
}

impl Extras {
    fn on(&self, mut stage: StageTemplate) -> StageTemplate {
        if let Some(version) = self.version {
            stage = stage.and(Attribute::Version, Match::is(VERSIONS[version]));
        }
        stage = match self.zone {
            0 => stage.and_requested(Attribute::Zone),
            1 => stage.and_not_requested(Attribute::Zone),
            _ => stage,
        };
        if self.of_tenant {
            stage = stage.and_requested(Attribute::tenant());
        }
        if self.strict {
            stage = stage.strict();
        }
        if let Some((size, seed)) = self.shard {
            let seed = seed.map_or_else(ShardSeed::tenant, ShardSeed::Fixed);
            stage = stage.with_shard(size, seed).expect("legal");
        }
        if let Some(permille) = self.spill {
            let spill = Spill::default().with_permille(permille).expect("legal");
            stage = stage.with_spill(spill);
        }
        let stage = stage.with_min_usable(self.min_usable).expect("legal");
        stage.with_min_share(self.min_share).expect("legal")
    }
}

fn plan(extras: &[Extras], start: impl Fn() -> StageTemplate) -> RoutePlan {
    RoutePlan::of_stages(extras.iter().map(|extras| extras.on(start()))).expect("no own ring")
}

fn config() -> ViewConfig {
    // Few points make small sets interleave more.
    let ring = RingConfig::default().with_points_per_instance(8);
    ViewConfig::default().with_ring(ring.expect("legal"))
}

fn view(plan: RoutePlan, snapshot: Snapshot) -> View {
    let plans = RoutePlans::new([plan]);
    View::first(config(), plans, Arc::new(snapshot), is_out)
}

fn with_route(view: &View, tags: &RequestTags) -> View {
    let key = view.key(PlanId::nth(PLAN), tags);
    let (plans, snapshot) = (view.plans().clone(), Arc::clone(view.snapshot()));
    view.next(plans, snapshot, [key], is_out)
}

fn ids(pool: &PoolView, key: KeyHash) -> Vec<String> {
    pool.walk(key)
        .filter_map(|member| pool.pool().instance(member))
        .map(|instance| instance.id().to_string())
        .collect()
}

fn keys() -> impl Iterator<Item = Vec<u8>> {
    (0..30_u32).map(|n| format!("user-{n}").into_bytes())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    /// So a shard that is walked to past everyone else is the shard with a ring of its own, and each key spills alike.
    #[test]
    fn a_route_gives_every_key_the_same_instances_prepared_or_not(
        snapshot in instances(), extras in prop::collection::vec(extras(), 1..5), tags in asked(),
    ) {
        let bare = view(plan(&extras, StageTemplate::any), snapshot);
        let prepared = with_route(&bare, &tags);
        let resolved = bare.resolve(&bare.key(PlanId::nth(PLAN), &tags));
        let prepared = prepared.route(PlanId::nth(PLAN), &tags).expect("prepared");
        prop_assert_eq!(resolved.stages(), prepared.stages());
        let mut seen = BTreeSet::new();
        for key in keys() {
            let (one, other) = (resolved.choose(Some(&key), || 0), prepared.choose(Some(&key), || 0));
            prop_assert_eq!(one.is_some(), other.is_some());
            let (Some(one), Some(other)) = (one, other) else { continue };
            prop_assert_eq!((one.stage, one.is_spilled), (other.stage, other.is_spilled));
            prop_assert_eq!(one.pool.pool().spec(), other.pool.pool().spec());
            let ring = other.pool.ring().expect("a prepared pool has a ring");
            if !seen.insert(one.stage) {
                continue;
            }
            let points = ring.points().flat_map(|(position, _)| [position, position.wrapping_add(1)]);
            for position in points.chain([other.pool.hash_key(&key, 3).get()]) {
                let position = KeyHash::from_raw(position);
                prop_assert_eq!(ids(one.pool, position), ids(other.pool, position));
            }
        }
    }

    /// Whatever else the stages ask for, and however badly the instances are: only tagged requests see tagged instances.
    #[test]
    fn untagged_requests_never_reach_gray_instances_or_a_tenants_own(
        snapshot in instances(), extras in prop::collection::vec(extras(), 1..5), tags in asked(),
    ) {
        let by_tags = RoutePlan::from(TagRouting::default());
        let untagged = RequestTags::new().with_zone(tags.get(&Attribute::Zone).unwrap_or(""));
        let stages = plan(&extras, StageTemplate::untagged);
        for (plan, tags) in [(by_tags, &untagged), (stages.clone(), &untagged), (stages, &tags)] {
            let bare = view(plan, snapshot.clone());
            let prepared = with_route(&bare, tags);
            let resolved = bare.resolve(&bare.key(PlanId::nth(PLAN), tags));
            for route in [&resolved, prepared.route(PlanId::nth(PLAN), tags).expect("prepared")] {
                for key in keys() {
                    let Some(chosen) = route.choose(Some(&key), || 0) else { continue };
                    for member in chosen.pool.walk(chosen.pool.hash_key(&key, 0)) {
                        let instance = chosen.pool.pool().instance(member).expect("a member");
                        let tagged = instance.tag("gray").or(instance.tag("tenant"));
                        prop_assert_eq!(tagged, None, "{}", instance.id());
                        prop_assert!(!matches!(instance.version(), Some("gray" | "canary")), "{}", instance.id());
                    }
                }
            }
        }
    }

    #[test]
    fn what_is_told_of_a_walk_is_the_walk(
        snapshot in instances(), extras in prop::collection::vec(extras(), 1..5), tags in asked(),
        attempts in 0..5_usize, own_ring in any::<Option<u64>>(),
    ) {
        let plan = match own_ring {
            Some(seed) => RoutePlan::of_stages([StageTemplate::untagged().with_ring_seed(seed)]).expect("fixed"),
            None => plan(&extras, StageTemplate::any),
        };
        let bare = view(plan, snapshot);
        let prepared = with_route(&bare, &tags);
        let resolved = bare.resolve(&bare.key(PlanId::nth(PLAN), &tags));
        for (view, route) in [(&bare, &resolved), (&prepared, prepared.route(PlanId::nth(PLAN), &tags).expect("prepared"))] {
            for key in keys() {
                let Some(chosen) = route.choose(Some(&key), || 0) else { continue };
                let hash = chosen.pool.hash_key(&key, 0).hash();
                let steps: Vec<_> = view.steps(chosen.pool, hash, attempts).collect();
                let told = |verdict: &[StepVerdict]| {
                    let places = steps.iter().filter(|step| verdict.contains(&step.verdict)).map(|step| step.place);
                    places.map(|place| view.snapshot().instances()[place].id().to_string()).collect::<Vec<_>>()
                };
                let walk = ids(chosen.pool, hash);
                prop_assert_eq!(&told(&[StepVerdict::Candidate]), &walk[..attempts.min(walk.len())]);
                prop_assert_eq!(told(&[StepVerdict::Candidate, StepVerdict::BeyondAttempts]), walk);
                let members = steps.iter().filter(|step| step.verdict != StepVerdict::NotAMember).count();
                prop_assert_eq!(members, chosen.pool.pool().len(), "each member once");
            }
        }
    }

    /// Who looks for the owner of a key alone goes by it.
    #[test]
    fn a_sole_pool_serves_every_key_with_nobody_behind_it(snapshot in instances(), extras in prop::collection::vec(extras(), 1..4)) {
        let view = view(plan(&extras, StageTemplate::any), snapshot);
        let route = view.base(PlanId::nth(PLAN)).expect("the view's plan");
        let untagged = view.route(PlanId::nth(PLAN), &RequestTags::new()).expect("prepared");
        prop_assert!(Arc::ptr_eq(route, untagged));
        let spills = extras.iter().any(|extras| extras.spill.is_some());
        for chosen in keys().filter_map(|key| route.choose(Some(&key), || 0)) {
            match route.sole() {
                Some(sole) => {
                    prop_assert!(std::ptr::eq(chosen.pool, sole));
                    prop_assert!(!chosen.is_spilled && chosen.next.is_none());
                }
                None => prop_assert!(spills || chosen.next.is_some()),
            }
        }
    }

    /// A ring of its own has nothing to do with who is asked first, and its route is there for whatever a request asks.
    #[test]
    fn a_ring_of_its_own_is_always_prepared(snapshot in instances(), seed in any::<u64>(), tags in asked()) {
        let plan = RoutePlan::of_stages([StageTemplate::any().with_ring_seed(seed)]).expect("fixed");
        let view = view(plan, snapshot);
        let route = view.route(PlanId::nth(PLAN), &tags).expect("prepared");
        if let Some((_, pool)) = route.chosen() {
            let ring = pool.ring().expect("its own");
            let config = view.config().ring().clone().with_seed(seed);
            prop_assert_eq!(ring.config(), &config);
            prop_assert_eq!(pool.hash_key(b"k", 0), config.hash_key(b"k"));
        }
        prop_assert_eq!(view.routes().len(), 0);
    }
}

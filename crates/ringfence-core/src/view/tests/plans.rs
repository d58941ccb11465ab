use super::*;
use crate::{
    pool::name_seed,
    ring::Ring,
    routing::{RoutePlan, ShardSeed, StageTemplate},
};

const FIRST: usize = 0;

fn plans(stages: impl IntoIterator<Item = StageTemplate>) -> RoutePlans {
    RoutePlans::new([RoutePlan::of_stages(stages).expect("legal")])
}

fn planned(plans: RoutePlans, instances: impl IntoIterator<Item = crate::InstanceBuilder>) -> View {
    View::first(ViewConfig::default(), plans, snapshot(instances), |_| None)
}

/// The stage that serves, and its instances by id.
fn served(view: &View, tags: &RequestTags) -> Option<(usize, BTreeSet<String>)> {
    let route = view.resolve(&view.key(PlanId::nth(FIRST), tags));
    let chosen = route.choose(None, || 0)?;
    let ids = chosen.pool.pool().iter().map(|i| i.id().to_string());
    Some((chosen.stage, ids.collect()))
}

fn version(version: &str) -> StageTemplate {
    StageTemplate::any().and(Attribute::Version, Match::is(version))
}

fn gray_and_stable(gray_usable: usize) -> Vec<crate::InstanceBuilder> {
    let gray = (0..4).map(|i| {
        instance(&format!("gray-{i}"))
            .version("gray")
            .healthy(i < gray_usable)
    });
    gray.chain([instance("stable").version("stable")]).collect()
}

#[test]
fn a_stage_is_taken_with_enough_instances_and_enough_of_its_own() {
    let two = || version("gray").with_min_usable(2).expect("legal");
    let half = || version("gray").with_min_share(50).expect("legal");
    let three_quarters = || two().with_min_share(75).expect("legal");
    // (first stage, usable of four, stage that serves)
    for (template, usable, stage) in [
        (two(), 1, 1),
        (two(), 2, 0),
        (half(), 1, 1),
        (half(), 2, 0),
        (three_quarters(), 2, 1),
        (three_quarters(), 3, 0),
        (version("gray"), 0, 1),
        (version("gray"), 1, 0),
    ] {
        let view = planned(
            plans([template.clone(), version("stable")]),
            gray_and_stable(usable),
        );
        let served = served(&view, &RequestTags::new()).expect("one serves");
        assert_eq!(served.0, stage, "{usable} usable for {template:?}");
    }
}

#[test]
fn where_no_stage_has_enough_some_serve_rather_than_none() {
    let many = |version: StageTemplate| version.with_min_usable(9).expect("legal");
    let both = || plans([many(version("gray")), many(version("stable"))]);
    let stage = |view: &View| served(view, &RequestTags::new()).map(|(stage, _)| stage);
    // A pool in which all have failed is worse than one with some left.
    for (usable, expected) in [(0, Some(1)), (1, Some(0))] {
        let view = planned(both(), gray_and_stable(usable));
        assert_eq!(stage(&view), expected, "{usable}");
        let calm = View::first(
            panic_below(0),
            both(),
            snapshot(gray_and_stable(usable)),
            |_| None,
        );
        assert_eq!(stage(&calm), expected, "{usable} without panic");
    }
    let dead = || [instance("gray").version("gray").healthy(false)];
    assert_eq!(stage(&planned(both(), dead())), Some(0), "in panic");
    let calm = View::first(panic_below(0), both(), snapshot(dead()), |_| None);
    assert_eq!(stage(&calm), None);
}

#[test]
fn a_strict_stage_keeps_requests_from_the_next_one_while_anyone_is_registered() {
    let own = StageTemplate::any().and(Attribute::tenant(), Match::is("acme"));
    let strict = || plans([own.clone().strict(), StageTemplate::untagged()]);
    let instances = |own: &[bool]| {
        let own = own.iter().enumerate();
        let own: Vec<_> = own
            .map(|(i, healthy)| {
                instance(&format!("own-{i}"))
                    .tenant("acme")
                    .healthy(*healthy)
            })
            .collect();
        own.into_iter().chain([instance("shared")])
    };
    let calm =
        |own: &[bool]| View::first(panic_below(0), strict(), snapshot(instances(own)), |_| None);
    let ids = |view: &View| served(view, &RequestTags::new()).map(|(_, ids)| ids);
    assert_eq!(ids(&calm(&[true])), Some(set(&["own-0"])));
    assert_eq!(ids(&calm(&[false, false])), None, "refused, not shared");
    assert_eq!(ids(&calm(&[])), Some(set(&["shared"])));
}

#[test]
fn a_zone_that_is_unknown_tiny_or_lost_gives_way() {
    let local = StageTemplate::any()
        .and_requested(Attribute::Zone)
        .with_min_usable(2)
        .expect("legal");
    let view = planned(
        plans([local, StageTemplate::any()]),
        [
            instance("a-1").zone("a"),
            instance("a-2").zone("a"),
            instance("tiny").zone("b"),
            instance("lost-1").zone("c").healthy(false),
            instance("lost-2").zone("c").healthy(false),
        ],
    );
    let all = set(&["a-1", "a-2", "tiny", "lost-1", "lost-2"]);
    let from = |zone: &str| served(&view, &RequestTags::new().with_zone(zone)).expect("one");
    assert_eq!(from("a"), (0, set(&["a-1", "a-2"])));
    for zone in ["b", "c", "nobody is here"] {
        assert_eq!(from(zone), (1, all.clone()), "{zone}");
    }
    assert_eq!(from(""), (0, all), "nothing local is looked for");
}

#[test]
fn a_shard_of_a_tenant_is_the_same_prepared_or_not() {
    let sharded = StageTemplate::any()
        .with_shard(3, ShardSeed::tenant())
        .expect("legal");
    let fleet = (0..20).map(|i| instance(&format!("i{i}")));
    let bare = planned(plans([sharded]), fleet);
    let tags = RequestTags::new().with_tenant("acme");
    let key = bare.key(PlanId::nth(FIRST), &tags);
    let prepared = bare.next(
        bare.plans().clone(),
        Arc::clone(bare.snapshot()),
        [key.clone()],
        |_| None,
    );
    assert!(bare.route(PlanId::nth(FIRST), &tags).is_none());
    let (resolved, prepared) = (
        bare.resolve(&key),
        prepared.route(PlanId::nth(FIRST), &tags).expect("prepared"),
    );
    let (Some((_, resolved)), Some((_, prepared))) = (resolved.chosen(), prepared.chosen()) else {
        panic!("both have a pool");
    };
    assert_eq!(resolved.pool().len(), 3);
    assert!(resolved.ring().is_none(), "walks past the others");
    let ring = prepared.ring().expect("its own ring");
    assert_eq!(ring.len(), 3 * 160);
    for (position, _) in ring.points() {
        let key = KeyHash::from_raw(position);
        assert!(resolved.walk(key).eq(prepared.walk(key)), "{position}");
    }
}

#[test]
fn a_ring_of_its_own_is_that_of_its_seed_and_is_kept_over_views() {
    let seed = name_seed("acme");
    let own = StageTemplate::any().with_ring_seed(seed);
    let fleet = || (0..20).map(|i| instance(&format!("i{i}")));
    let view = planned(plans([own]), fleet());
    let ring = |view: &View| {
        let route = view.route(PlanId::nth(FIRST), &RequestTags::new().with_zone("any"));
        let (_, pool) = route.expect("always prepared").chosen().expect("a pool");
        Arc::clone(pool.ring().expect("a ring"))
    };
    let config = view.config().ring().clone().with_seed(seed);
    let everyone = Pool::select(view.snapshot(), &Selector::any());
    let expected = Ring::build(&everyone, &config);
    assert_eq!(ring(&view).fingerprint(), expected.fingerprint());
    assert!(ring(&view).points().eq(expected.points()));
    assert_ne!(ring(&view).fingerprint(), view.whole_ring().fingerprint());

    let sick = snapshot(fleet().map(|instance| instance.healthy(false)));
    let next = view.next(view.plans().clone(), sick, [], |_| Some(Absence::Ejected));
    assert!(
        Arc::ptr_eq(&ring(&view), &ring(&next)),
        "health is not in it"
    );
    // A key lies where the ring's own seed puts it.
    let (_, pool) = next
        .route(PlanId::nth(FIRST), &RequestTags::new())
        .expect("prepared")
        .chosen()
        .expect("a pool");
    assert_eq!(pool.hash_key(b"user-1", 0), config.hash_key(b"user-1"));
    assert_eq!(
        pool.hash_key(b"user-1", 7),
        config.clone().with_seed(seed ^ 7).hash_key(b"user-1")
    );
}

#[test]
fn what_does_not_matter_to_a_plan_does_not_make_a_route() {
    let local = StageTemplate::any().and_requested(Attribute::Zone);
    let plans = plans([local, StageTemplate::any()]);
    let view = planned(plans.clone(), [instance("a").zone("a"), instance("b")]);
    let zoned = RequestTags::new().with_zone("a");
    let noisy = |n: usize| zoned.clone().with_tag("noise", n.to_string());
    let wishes = (0..100).map(|n| RouteKey::new(PlanId::nth(FIRST), noisy(n)));
    let gone = RouteKey::new(PlanId::nth(7), zoned.clone());
    let view = view.next(
        plans,
        Arc::clone(view.snapshot()),
        wishes.chain([gone]),
        |_| None,
    );
    assert_eq!(view.routes().len(), 1);
    let route = |tags: &RequestTags| view.route(PlanId::nth(FIRST), tags).expect("prepared");
    assert!(Arc::ptr_eq(route(&zoned), route(&noisy(1_000))));
    let base = route(&RequestTags::new());
    assert!(Arc::ptr_eq(
        base,
        route(&RequestTags::new().with_tag("noise", "1"))
    ));
    assert!(!Arc::ptr_eq(base, route(&zoned)));
    assert!(
        view.route(PlanId::nth(FIRST), &RequestTags::new().with_zone("b"))
            .is_none()
    );
}

#[test]
fn a_plan_that_does_not_exist_has_no_pool() {
    let view = view([instance("a")]);
    let tags = RequestTags::new().with_zone("a");
    for plan in [PlanId::nth(0), PlanId::nth(usize::MAX)] {
        assert!(
            view.route(plan, &tags).is_none() && view.route(plan, &RequestTags::new()).is_none()
        );
        let route = view.resolve(&view.key(plan, &tags));
        assert!(route.chosen().is_none() && route.stages().is_empty());
    }
}

#[test]
fn other_plans_do_not_inherit_what_is_known_of_a_route() {
    let local = || StageTemplate::any().and_requested(Attribute::Zone);
    let first = planned(plans([local()]), [instance("a").zone("a")]);
    let tags = RequestTags::new().with_zone("a");
    let key = first.key(PlanId::nth(FIRST), &tags);
    let next = |view: &View, plans: RoutePlans| {
        let snapshot = Arc::clone(view.snapshot());
        let routes = [key.clone(), tags.clone().into()];
        view.next(plans, snapshot, routes, |_| None)
    };
    let second = next(&first, plans([local()]));
    for plan in [PlanId::ROUTING, PlanId::nth(FIRST)] {
        second.route(plan, &tags).expect("prepared").mark_used();
    }
    let used = |view: &View, plan| view.route(plan, &tags).expect("prepared").take_used();
    let other = next(&second, plans([local(), StageTemplate::any()]));
    assert!(!used(&other, PlanId::nth(FIRST)), "another plan");
    assert!(used(&other, PlanId::ROUTING), "the same routing");
    let equal = next(&second, plans([local()]));
    assert!(used(&equal, PlanId::nth(FIRST)), "an equal plan");
}

#[test]
fn a_walk_is_told_with_everyone_it_passes() {
    let view = View::first(
        panic_below(0),
        plans([version("gray")]),
        snapshot([
            instance("a").version("gray"),
            instance("disabled").version("gray").enabled(false),
            instance("drained").version("gray").weight(0),
            instance("out").version("gray"),
            instance("sick").version("gray").healthy(false),
            instance("stable"),
            instance("z").version("gray"),
        ]),
        |place| (place == 3).then_some(Absence::Ejected),
    );
    let route = view.route(PlanId::nth(FIRST), &RequestTags::new());
    let (_, pool) = route.expect("prepared").chosen().expect("a pool");
    let mut told: Vec<_> = view
        .steps(pool, pool.hash_key(b"k", 0), 1)
        .map(|step| {
            let instance = &view.snapshot().instances()[step.place];
            format!("{} {}", instance.id(), step.verdict)
        })
        .collect();
    assert_eq!(
        told[told.len() - 2..],
        ["disabled disabled", "drained drained"],
        "not on the ring"
    );
    let owner = pool.walk(pool.hash_key(b"k", 0)).next();
    let owner = owner
        .and_then(|member| pool.pool().instance(member))
        .expect("one");
    let other = if owner.id().as_str() == "a" { "z" } else { "a" };
    told.sort();
    let mut expected = [
        format!("{} candidate", owner.id()),
        format!("{other} over max_attempts"),
        "disabled disabled".to_owned(),
        "drained drained".to_owned(),
        "out ejected".to_owned(),
        "sick unhealthy".to_owned(),
        "stable not a member".to_owned(),
    ];
    expected.sort();
    assert_eq!(told, expected);
}

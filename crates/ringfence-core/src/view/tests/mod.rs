use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::*;
use crate::{
    instance::Instance,
    pool::{Attribute, Match, Pool, Selector},
    ring::KeyHash,
    routing::{Fallback, RequestTags, TagRouting, TagRule},
};

fn instance(id: &str) -> crate::InstanceBuilder {
    Instance::builder(id, "10.0.0.1:80")
}

fn view(instances: impl IntoIterator<Item = crate::InstanceBuilder>) -> View {
    View::first(
        ViewConfig::default(),
        RoutePlans::default(),
        snapshot(instances),
        |_| None,
    )
}

fn snapshot(instances: impl IntoIterator<Item = crate::InstanceBuilder>) -> Arc<Snapshot> {
    Arc::new(
        instances
            .into_iter()
            .map(|i| i.build().expect("legal"))
            .collect(),
    )
}

fn panic_below(percent: u8) -> ViewConfig {
    ViewConfig::default()
        .with_panic_threshold(percent)
        .expect("in range")
}

#[test]
fn a_panic_threshold_above_all_is_refused() {
    let error = ViewConfig::default()
        .with_panic_threshold(101)
        .expect_err("above 100 a healthy pool would be in panic");
    assert_eq!(
        error.to_string(),
        "panic_threshold is 101, allowed is 0..=100"
    );
}

/// All instances that requests with these tags can reach, by id.
fn reach(view: &View, tags: &RequestTags) -> BTreeSet<String> {
    let route = view.resolve(&tags.clone().into());
    let Some((_, pool)) = route.chosen() else {
        return BTreeSet::new();
    };
    pool.walk(view.config().ring().hash_key(b"k"))
        .filter_map(|member| pool.pool().instance(member))
        .map(|instance| instance.id().to_string())
        .collect()
}

fn set(ids: &[&str]) -> BTreeSet<String> {
    ids.iter().map(|id| (*id).to_owned()).collect()
}

#[test]
fn untagged_requests_never_reach_gray_or_dedicated_instances() {
    let view = view([
        instance("plain"),
        instance("v1").version("1.4.2"),
        instance("gray-version").version("gray"),
        instance("gray-tag").tag("gray", "true"),
        instance("acme").tenant("acme"),
    ]);
    let ask = RequestTags::new;
    assert_eq!(reach(&view, &ask()), set(&["plain", "v1"]));
    assert_eq!(
        reach(&view, &ask().with_version("gray")),
        set(&["gray-version"])
    );
    assert_eq!(
        reach(&view, &ask().with_tag("gray", "true")),
        set(&["gray-tag"])
    );
    assert_eq!(
        reach(&view, &ask().with_tag("gray", "other")),
        set(&["plain", "v1"])
    );
    assert_eq!(reach(&view, &ask().with_tenant("acme")), set(&["acme"]));
    assert_eq!(
        reach(&view, &ask().with_tenant("other")),
        set(&["plain", "v1"])
    );
    assert_eq!(
        reach(&view, &ask().with_version("GRAY")),
        set(&["plain", "v1"])
    );
    assert_eq!(reach(&view, &ask().with_tag("disk", "ssd")), set(&[]));
}

#[test]
fn a_tenant_whose_own_instances_are_all_down_stays_on_them_or_fails() {
    let instances = || {
        [
            instance("shared"),
            instance("own").tenant("acme").healthy(false),
        ]
    };
    let tags = RequestTags::new().with_tenant("acme");
    assert_eq!(
        reach(&view(instances()), &tags),
        set(&["own"]),
        "panic serves from the own pool"
    );
    let strict = panic_below(0);
    let view = View::first(strict, RoutePlans::default(), snapshot(instances()), |_| {
        None
    });
    assert_eq!(reach(&view, &tags), set(&[]));
    let outcomes: Vec<_> = view
        .resolve(&tags.clone().into())
        .stages()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert!(
        outcomes
            .last()
            .is_some_and(|last| last == "[strict tenant=acme: 0 usable of 1]"),
        "{outcomes:?}"
    );
}

#[test]
fn a_pool_without_usable_instances_falls_through_like_an_empty_one() {
    let view = view([
        instance("gray").version("gray").healthy(false),
        instance("stable-1"),
        instance("stable-2"),
    ]);
    let route = view.resolve(&RequestTags::new().with_version("gray").into());
    let (stage, pool) = route.chosen().expect("a pool");
    assert_eq!((stage, pool.usable_count(), pool.is_panic()), (1, 2, false));
}

#[test]
fn health_and_ejection_are_ignored_below_the_panic_threshold_only() {
    let four = || (0..4).map(|i| instance(&format!("i{i}")));
    // (ejected, threshold) -> eligible, panic
    for (ejected, threshold, eligible, panic) in [
        (0, 50, 4, false),
        (1, 50, 3, false),
        (2, 50, 2, false),
        (3, 50, 4, true),
        (4, 50, 4, true),
        (1, 100, 4, true),
        (0, 100, 4, false),
        (3, 0, 1, false),
    ] {
        let view = View::first(
            panic_below(threshold),
            RoutePlans::default(),
            snapshot(four()),
            |index| (index < ejected).then_some(Absence::Ejected),
        );
        let route = view
            .route(PlanId::ROUTING, &RequestTags::new())
            .expect("prepared");
        let (_, pool) = route.chosen().expect("a pool");
        assert_eq!(
            (pool.eligible().len(), pool.is_panic()),
            (eligible, panic),
            "{ejected} of 4 out at {threshold} %"
        );
    }
    let view = View::first(
        panic_below(0),
        RoutePlans::default(),
        snapshot(four()),
        |_| Some(Absence::Ejected),
    );
    assert!(
        view.route(PlanId::ROUTING, &RequestTags::new())
            .expect("prepared")
            .chosen()
            .is_none()
    );
}

#[test]
fn panic_reaches_unhealthy_but_never_disabled_or_drained_instances() {
    let view = view([
        instance("disabled").enabled(false),
        instance("sick").healthy(false),
        instance("drained").weight(0),
    ]);
    assert_eq!(reach(&view, &RequestTags::new()), set(&["sick"]));
}

#[test]
fn owners_in_full_panic_are_those_without_any_failure() {
    let well = view((0..4).map(|i| instance(&format!("i{i}"))));
    let all_out = well.next(
        RoutePlans::default(),
        Arc::clone(well.snapshot()),
        [],
        |_| Some(Absence::Ejected),
    );
    let owner = |view: &View, key: u32| {
        let route = view
            .route(PlanId::ROUTING, &RequestTags::new())
            .expect("prepared");
        let (_, pool) = route.chosen().expect("a pool");
        pool.walk(view.config().ring().hash_key(&key.to_le_bytes()))
            .next()
    };
    assert!((0..1_000).all(|key| owner(&well, key) == owner(&all_out, key)));
}

#[test]
fn a_change_of_health_or_ejection_keeps_every_ring() {
    let tags = RequestTags::new().with_zone("a");
    let before = view([instance("x").zone("a"), instance("y").zone("b")]);
    let before = before.next(
        RoutePlans::default(),
        Arc::clone(before.snapshot()),
        [tags.clone().into()],
        |_| None,
    );
    let sick = snapshot([
        instance("x").zone("a").healthy(false),
        instance("y").zone("b"),
    ]);
    let after = before.next(
        RoutePlans::default(),
        sick,
        [tags.clone().into()],
        |index| (index == 1).then_some(Absence::Ejected),
    );
    let ring = |view: &View, tags: &RequestTags| {
        let (_, pool) = view
            .route(PlanId::ROUTING, tags)
            .expect("prepared")
            .chosen()
            .expect("a pool");
        Arc::clone(pool.ring().expect("a ring"))
    };
    assert!(Arc::ptr_eq(before.whole_ring(), after.whole_ring()));
    assert!(Arc::ptr_eq(
        &ring(&before, &RequestTags::new()),
        &ring(&after, &RequestTags::new())
    ));
    assert_eq!(after.epoch(), 3);
}

#[test]
fn pools_of_the_same_members_share_one_ring() {
    let view = view([
        instance("a").zone("z"),
        instance("b").zone("z"),
        instance("c").tenant("t"),
    ]);
    let zoned = RequestTags::new().with_zone("z");
    let view = view.next(
        RoutePlans::default(),
        Arc::clone(view.snapshot()),
        [zoned.clone().into()],
        |_| None,
    );
    let ring = |tags: &RequestTags| {
        let (_, pool) = view
            .route(PlanId::ROUTING, tags)
            .expect("prepared")
            .chosen()
            .expect("a pool");
        Arc::clone(pool.ring().expect("a ring"))
    };
    assert!(Arc::ptr_eq(&ring(&zoned), &ring(&RequestTags::new())));
}

#[test]
fn use_of_a_route_is_noted_across_views() {
    let tags = RequestTags::new().with_zone("z");
    let first = view([instance("a")]);
    let second = first.next(
        RoutePlans::default(),
        Arc::clone(first.snapshot()),
        [tags.clone().into()],
        |_| None,
    );
    let third = second.next(
        RoutePlans::default(),
        Arc::clone(second.snapshot()),
        [tags.clone().into()],
        |_| None,
    );
    let route = |view: &View| Arc::clone(view.route(PlanId::ROUTING, &tags).expect("prepared"));
    route(&second).mark_used();
    assert!(route(&third).take_used() && !route(&third).take_used());
    assert!(first.route(PlanId::ROUTING, &tags).is_none());
}

#[test]
fn a_strict_rule_gives_no_pool_instead_of_another_one() {
    let lane = TagRule::new(
        Attribute::tag("lane"),
        Some(Match::absent()),
        Fallback::Never,
    );
    let config = ViewConfig::default().with_routing(TagRouting::default().with_rule(lane));
    let lanes = [
        instance("a").tag("lane", "gray"),
        instance("b").tag("lane", "blue"),
        instance("d"),
    ];
    let view = View::first(config, RoutePlans::default(), snapshot(lanes), |_| None);
    let lane = |value: &str| reach(&view, &RequestTags::new().with_tag("lane", value));
    assert_eq!(lane("gray"), set(&["a"]));
    assert_eq!(lane("gray "), set(&["a"]), "trimmed as instances' tags are");
    assert_eq!(lane("GRAY"), set(&[]));
    assert_eq!(lane("green"), set(&[]));
    assert_eq!(lane(""), set(&["d"]));
}

#[test]
fn a_pools_selector_is_told_by_equal_copies_that_outlive_views() {
    let tags = RequestTags::new().with_zone("z");
    let first = view([instance("a").zone("z"), instance("b")]);
    let second = first.next(
        RoutePlans::default(),
        Arc::clone(first.snapshot()),
        [tags.clone().into()],
        |_| None,
    );
    let third = second.next(
        RoutePlans::default(),
        snapshot([instance("a").zone("z")]),
        [tags.clone().into()],
        |_| None,
    );
    let (resolved, second, third) = (
        first.resolve(&tags.clone().into()),
        second.route(PlanId::ROUTING, &tags),
        third.route(PlanId::ROUTING, &tags),
    );
    let (second, third) = (second.expect("prepared"), third.expect("prepared"));
    let selector = |route: &Route, spread| {
        let (_, pool) = route.chosen().expect("a pool");
        assert_eq!(**pool.spec(spread), *pool.pool().spec());
        Arc::clone(pool.spec(spread))
    };
    for spread in [0, 1, 7, u64::MAX] {
        assert_eq!(selector(&resolved, spread), selector(second, spread));
        assert!(Arc::ptr_eq(
            &selector(second, spread),
            &selector(third, spread)
        ));
    }
    assert!(!Arc::ptr_eq(&selector(second, 0), &selector(second, 1)));
}

mod algorithms;
mod bounded;
mod falling;
mod panic;
mod plans;
mod spilling;

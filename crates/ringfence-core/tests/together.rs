//! Warm-ups against panic, stages and explanations.
#![allow(clippy::unwrap_used, reason = "all of it is tests")]

use std::sync::Arc;

use ringfence_core::{
    Absence, Attribute, Instance, Match, PlanId, RequestTags, RoutePlan, RoutePlans, Snapshot,
    StageTemplate, StepVerdict, View, ViewConfig,
};

fn instance(id: &str, zone: &str, healthy: bool) -> Instance {
    Instance::builder(id, "10.0.0.1:80")
        .zone(zone)
        .healthy(healthy)
        .build()
        .unwrap()
}

/// "The first `attempts` candidates are those of `PoolView::walk`."
#[test]
fn steps_name_the_candidates_of_the_walk_in_panic_with_warm_ups() {
    let snapshot = Snapshot::new([
        instance("a", "x", false),
        instance("b", "x", false),
        instance("c", "x", false),
    ]);
    let view = View::first(
        ViewConfig::default(),
        RoutePlans::default(),
        Arc::new(snapshot),
        |place| (place > 0).then_some(Absence::Warming),
    );
    let route = view.route(PlanId::ROUTING, &RequestTags::new()).unwrap();
    let (_, pool) = route.chosen().unwrap();
    assert!(pool.is_panic());
    let key = pool.hash_key(b"k", 0);
    let walked: Vec<usize> = pool
        .walk(key)
        .map(|member| pool.pool().members()[member as usize] as usize)
        .collect();
    let explained: Vec<usize> = view
        .steps(pool, key, 8)
        .filter(|step| step.verdict == StepVerdict::Candidate)
        .map(|step| step.place)
        .collect();
    assert_eq!(explained, walked);
}

/// One that warms up is as if it were not there yet.
#[test]
fn newcomers_that_warm_up_do_not_empty_a_stage_with_a_minimum_share() {
    let old = (0..2).map(|n| instance(&format!("a{n}"), "x", true));
    let new = (0..8).map(|n| instance(&format!("n{n}"), "x", true));
    let other = (0..2).map(|n| instance(&format!("z{n}"), "y", true));
    let snapshot = Arc::new(Snapshot::new(old.chain(new).chain(other)));
    let here = StageTemplate::any()
        .and(Attribute::Zone, Match::is("x"))
        .with_min_share(50)
        .unwrap();
    let plan = RoutePlan::of_stages([here, StageTemplate::any()]).unwrap();
    let ids = Arc::clone(&snapshot);
    let view = View::first(
        ViewConfig::default(),
        RoutePlans::new([plan]),
        snapshot,
        move |place| {
            let id = ids.instances()[place].id().as_str();
            id.starts_with('n').then_some(Absence::Warming)
        },
    );
    let route = view.route(PlanId::nth(0), &RequestTags::new()).unwrap();
    assert_eq!(route.chosen().unwrap().0, 0, "{:?}", route.stages());
}

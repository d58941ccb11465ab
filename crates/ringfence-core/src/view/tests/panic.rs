//! Panic is for pools that nobody else can stand in for.

use super::*;
use crate::routing::{RoutePlan, Spill, StageTemplate};

const TEN: usize = 10;

/// Ten instances in each zone, so many of which are usable.
fn zones(usable: &[(&str, usize)]) -> Arc<Snapshot> {
    snapshot(usable.iter().flat_map(|(zone, usable)| {
        (0..TEN).map(move |i| {
            instance(&format!("{zone}{i}"))
                .zone(*zone)
                .healthy(i < *usable)
        })
    }))
}

/// The zone's own instances, then the others, then all.
fn plans(spill: Option<Spill>) -> RoutePlans {
    let here = StageTemplate::any().and(Attribute::Zone, Match::is("a"));
    let here = match spill {
        Some(spill) => here.with_spill(spill),
        None => here,
    };
    let elsewhere = StageTemplate::any().and(Attribute::Zone, Match::is_not("a"));
    let stages = [here, elsewhere, StageTemplate::any()];
    RoutePlans::new([RoutePlan::of_stages(stages).expect("legal")])
}

/// By stage that serves: how many instances serve, and whether it is in panic; on the prepared route, and on one worked out.
fn serving(view: &View) -> BTreeMap<usize, (usize, bool)> {
    let prepared = view.route(PlanId::nth(0), &RequestTags::new());
    let resolved = view.resolve(&view.key(PlanId::nth(0), &RequestTags::new()));
    let of = |route: &Route| {
        let mut serving = BTreeMap::new();
        for n in 0..2_000 {
            let key = format!("user-{n}");
            let Some(chosen) = route.choose(Some(key.as_bytes()), || 0) else {
                continue;
            };
            let reached = chosen.pool.walk(chosen.pool.hash_key(key.as_bytes(), 0));
            let state = (reached.count(), chosen.pool.is_panic());
            let before = serving.insert(chosen.stage, state);
            assert!(before.is_none_or(|before| before == state));
        }
        serving
    };
    let serving = of(prepared.expect("prepared"));
    assert_eq!(serving, of(&resolved));
    serving
}

fn view(spill: Option<Spill>, usable: &[(&str, usize)]) -> View {
    let config = ViewConfig::default();
    View::first(config, plans(spill), zones(usable), |_| None)
}

#[test]
fn what_is_left_of_a_zone_serves_alone_while_others_are_well() {
    let spill = || Some(Spill::default());
    // (usable here, usable elsewhere) -> what serves: (stage, instances, panic)
    for (here, elsewhere, expected) in [
        (10, 10, vec![(0, 10, false)]),
        (2, 10, vec![(0, 2, false), (1, 10, false)]),
        (2, 5, vec![(0, 2, false), (1, 5, false)]),
        (0, 10, vec![(1, 10, false)]),
        // Too few anywhere: the few that are left would be overrun.
        (2, 2, vec![(0, 10, true), (1, 10, true)]),
        // All together are enough, so the dead ones elsewhere are not needed.
        (6, 4, vec![(0, 6, false), (1, 4, false)]),
        (2, 0, vec![(0, 10, true), (2, 20, true)]),
        (0, 0, vec![(0, 10, true)]),
    ] {
        let expected = expected.into_iter();
        let expected: BTreeMap<_, _> = expected
            .map(|(stage, n, panic)| (stage, (n, panic)))
            .collect();
        let view = view(spill(), &[("a", here), ("b", elsewhere)]);
        assert_eq!(
            serving(&view),
            expected,
            "{here} here, {elsewhere} elsewhere"
        );
    }
}

/// The first stage with enough usable instances wins, and what wins does not depend on panic.
#[test]
fn without_a_spill_the_stage_still_serves_and_keeps_to_its_usable_ones() {
    let serving = serving(&view(None, &[("a", 1), ("b", 10)]));
    assert_eq!(serving, BTreeMap::from([(0, (1, false))]));
}

#[test]
fn behind_a_stage_that_ends_the_search_nobody_stands_in() {
    let own = StageTemplate::any().and(Attribute::Zone, Match::is("a"));
    let plan = RoutePlan::of_stages([own.strict(), StageTemplate::any()]).expect("legal");
    let view = View::first(
        ViewConfig::default(),
        RoutePlans::new([plan]),
        zones(&[("a", 2), ("b", 10)]),
        |_| None,
    );
    assert_eq!(serving(&view), BTreeMap::from([(0, (10, true))]));
}

/// One pool, for requests that can go elsewhere and for others that cannot.
#[test]
fn a_pool_can_be_in_panic_for_some_and_not_for_others() {
    let own = || StageTemplate::any().and(Attribute::Zone, Match::is("a"));
    let plan = |stages: Vec<_>| RoutePlan::of_stages(stages).expect("legal");
    let both = || {
        let plans = [plan(vec![own(), StageTemplate::any()]), plan(vec![own()])];
        RoutePlans::new(plans)
    };
    let well = View::first(
        ViewConfig::default(),
        both(),
        zones(&[("a", 9), ("b", 10)]),
        |_| None,
    );
    let sick = well.next(both(), zones(&[("a", 2), ("b", 10)]), [], |_| None);
    let state = |view: &View, plan| {
        let route = view
            .route(PlanId::nth(plan), &RequestTags::new())
            .expect("prepared");
        let (_, pool) = route.chosen().expect("a pool");
        (
            pool.eligible().len(),
            pool.is_panic(),
            Arc::clone(pool.ring().expect("a ring")),
        )
    };
    let (first, other) = (state(&sick, 0), state(&sick, 1));
    assert_eq!((first.0, first.1), (2, false));
    assert_eq!((other.0, other.1), (10, true));
    assert!(Arc::ptr_eq(&first.2, &other.2) && Arc::ptr_eq(&first.2, &state(&well, 0).2));
    let in_panic = |view: &View| view.pools().filter(|pool| pool.is_panic()).count();
    assert_eq!((in_panic(&well), in_panic(&sick)), (0, 1));
    let again = sick.next(both(), zones(&[("a", 9), ("b", 10)]), [], |_| None);
    assert_eq!((state(&again, 0).0, state(&again, 1).0), (9, 9));
}

/// Many new instances at once, which are not to get requests before they are warm.
#[test]
fn those_that_warm_up_neither_bring_panic_nor_are_used_in_it() {
    let all = snapshot((0..10).map(|n| instance(&format!("i{n}"))));
    let with = |absences: &[(usize, Absence)]| {
        let absence = |place: usize| {
            let found = absences.iter().find(|(of, _)| *of == place);
            found.map(|(_, absence)| *absence)
        };
        let view = View::first(
            ViewConfig::default(),
            RoutePlans::default(),
            Arc::clone(&all),
            absence,
        );
        let route = view.route(PlanId::ROUTING, &RequestTags::new()).cloned();
        let route = route.expect("prepared");
        let pool = route.chosen().expect("a pool").1;
        let walk: BTreeSet<u32> = pool.walk(KeyHash::from_raw(7)).collect();
        let told = view.steps(pool, KeyHash::from_raw(7), 10);
        let told = told.filter(|step| step.verdict == StepVerdict::Candidate);
        assert_eq!(told.count(), walk.len());
        (pool.is_panic(), walk)
    };
    let warming = |places: std::ops::Range<usize>| places.map(|place| (place, Absence::Warming));
    let (panic, walk) = with(&warming(2..10).collect::<Vec<_>>());
    assert_eq!((panic, walk), (false, BTreeSet::from([0, 1])));
    // Of the two others none is usable.
    let mut absences: Vec<_> = warming(2..10).collect();
    absences.extend([(0, Absence::Ejected), (1, Absence::FailsChecks)]);
    let (panic, walk) = with(&absences);
    assert_eq!((panic, walk), (true, BTreeSet::from([0, 1])));
    let (panic, walk) = with(&warming(0..10).collect::<Vec<_>>());
    assert_eq!((panic, walk), (false, (0..10).collect()));
}

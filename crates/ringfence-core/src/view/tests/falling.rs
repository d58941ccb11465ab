//! A pool whose instances all fail is left before anybody knows that they do.

use super::*;
use crate::routing::{RoutePlan, Spill, StageTemplate};

fn zone(is_home: bool) -> StageTemplate {
    let home = if is_home {
        Match::is("a")
    } else {
        Match::is_not("a")
    };
    StageTemplate::any().and(Attribute::Zone, home)
}

fn fleet(zones: &[(&str, usize)]) -> Arc<Snapshot> {
    let each = zones.iter().flat_map(|(zone, count)| {
        (0..*count).map(move |i| instance(&format!("{zone}{i}")).zone(*zone))
    });
    snapshot(each)
}

fn view(stages: impl IntoIterator<Item = StageTemplate>, fleet: Arc<Snapshot>) -> View {
    let plans = RoutePlans::new([RoutePlan::of_stages(stages).expect("legal")]);
    View::first(ViewConfig::default(), plans, fleet, |_| None)
}

/// Zones of those that are tried for a key, in order; by the prepared route and by one worked out.
fn tried(view: &View, key: &str, limit: usize) -> String {
    let plan = PlanId::nth(0);
    let prepared = view.route(plan, &RequestTags::new()).expect("prepared");
    let resolved = view.resolve(&view.key(plan, &RequestTags::new()));
    let of = |route: &Route| -> Vec<String> {
        let chosen = route
            .choose(Some(key.as_bytes()), || 0)
            .expect("some serve");
        let walk = chosen.walk(key.as_bytes(), 0, limit);
        let ids = walk.map(|(pool, member)| pool.pool().instance(member).expect("there").id());
        ids.map(ToString::to_string).collect()
    };
    let ids = of(prepared);
    assert_eq!(ids, of(&resolved));
    assert!(ids.len() <= limit);
    let distinct: BTreeSet<_> = ids.iter().collect();
    assert_eq!(distinct.len(), ids.len(), "{ids:?}");
    ids.iter().map(|id| &id[..1]).collect()
}

#[test]
fn the_last_attempt_is_for_the_next_stage_that_could_serve() {
    let home_then_others = || view([zone(true), zone(false)], fleet(&[("a", 5), ("b", 5)]));
    let home_then_all = || {
        view(
            [zone(true), StageTemplate::any()],
            fleet(&[("a", 5), ("b", 5)]),
        )
    };
    for view in [home_then_others(), home_then_all()] {
        for (limit, expected) in [
            (0, ""),
            (1, "a"),
            (2, "ab"),
            (3, "aab"),
            (6, "aaaaab"),
            (8, "aaaaabbb"),
        ] {
            for n in 0..200 {
                assert_eq!(tried(&view, &format!("k{n}"), limit), expected, "{limit}");
            }
        }
    }
}

#[test]
fn nothing_is_kept_back_where_there_is_no_other() {
    for (stages, fleet) in [
        (vec![zone(true)], fleet(&[("a", 5), ("b", 5)])),
        (vec![zone(true), zone(false)], fleet(&[("a", 5)])),
        (vec![zone(true), StageTemplate::any()], fleet(&[("a", 5)])),
    ] {
        let view = view(stages, fleet);
        assert_eq!(tried(&view, "k", 3), "aaa");
    }
    let unserved = zone(false).with_min_usable(6).expect("legal");
    let view = view([zone(true), unserved], fleet(&[("a", 5), ("b", 5)]));
    assert_eq!(tried(&view, "k", 3), "aaa", "a stage below its minimum");
}

#[test]
fn keys_that_spill_have_the_stage_behind_theirs() {
    let fleet = snapshot((0..10).map(|i| {
        let zone = ["a", "b"][i % 2];
        instance(&format!("{zone}{i}")).zone(zone).healthy(i < 6)
    }));
    let view = view(
        [zone(true).with_spill(Spill::default()), zone(false)],
        fleet,
    );
    let all: BTreeSet<_> = (0..500)
        .map(|n| tried(&view, &format!("k{n}"), 3))
        .collect();
    let expected = ["aab", "bbb"].map(str::to_owned);
    assert_eq!(all, expected.into(), "there is no stage behind the last");
}

#[test]
fn requests_without_a_key_have_one_too() {
    let view = view(
        [zone(true), StageTemplate::any()],
        fleet(&[("a", 3), ("b", 3)]),
    );
    let route = view
        .route(PlanId::nth(0), &RequestTags::new())
        .expect("prepared");
    let chosen = route.choose(None, || 0).expect("some serve");
    let drawn: BTreeSet<_> = (0..100)
        .map(|draw| {
            let (pool, member) = chosen.beyond(draw).expect("the other zone");
            pool.pool()
                .instance(member)
                .expect("there")
                .id()
                .to_string()
        })
        .collect();
    assert_eq!(drawn, ["b0", "b1", "b2"].map(str::to_owned).into());
}

/// The ring of a pool and that of all instances have other points between the same ones.
#[test]
fn a_rare_instance_is_looked_for_as_far_with_and_without_a_ring_of_its_own() {
    let not_c = StageTemplate::any().and(Attribute::Zone, Match::is_not("c"));
    let fleet = fleet(&[("a", 30), ("b", 1), ("c", 90)]);
    let view = view([zone(true), not_c], fleet);
    let all: BTreeSet<_> = (0..500)
        .map(|n| tried(&view, &format!("k{n}"), 3))
        .collect();
    assert_eq!(all, ["aaa", "aab"].map(str::to_owned).into());
}

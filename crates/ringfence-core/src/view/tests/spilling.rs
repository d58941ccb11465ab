use super::*;
use crate::routing::{RoutePlan, Spill, StageTemplate};

const KEYS: usize = 20_000;

/// Local first, what spills goes elsewhere.
fn plans(spill: Spill) -> RoutePlans {
    let local = StageTemplate::any()
        .and_requested(Attribute::Zone)
        .with_spill(spill);
    let elsewhere = StageTemplate::any().and_not_requested(Attribute::Zone);
    RoutePlans::new([RoutePlan::of_stages([local, elsewhere]).expect("legal")])
}

/// Ten instances in each of two zones, of which so many of the first are usable.
fn zones(usable: usize) -> Arc<Snapshot> {
    snapshot((0..20).map(|i| {
        instance(&format!("i{i:02}"))
            .zone(["a", "b"][i / 10])
            .healthy(i < usable || i >= 10)
    }))
}

fn key(n: usize) -> String {
    format!("user-{n}")
}

/// For each key: its owner, and whether it left the zone.
fn owners(view: &View) -> Vec<(String, bool)> {
    let route = view.resolve(&view.key(PlanId::nth(0), &RequestTags::new().with_zone("a")));
    (0..KEYS)
        .map(|n| {
            let key = key(n);
            let chosen = route.choose(Some(key.as_bytes()), || 0).expect("a pool");
            let member = chosen
                .pool
                .walk(chosen.pool.hash_key(key.as_bytes(), 0))
                .next();
            let owner = member.and_then(|member| chosen.pool.pool().instance(member));
            (owner.expect("an owner").id().to_string(), chosen.stage > 0)
        })
        .collect()
}

#[test]
fn a_zone_passes_on_what_its_rest_cannot_carry_and_nothing_else_moves() {
    let view = |usable| {
        let config = panic_below(0);
        View::first(config, plans(Spill::default()), zones(usable), |_| None)
    };
    let mut before = owners(&view(10));
    assert!(
        before
            .iter()
            .all(|(owner, left)| !left && owner.as_str() < "i10")
    );
    for usable in (1..10).rev() {
        let now = owners(&view(usable));
        let left = now.iter().filter(|(_, left)| *left).count();
        let share = usize::from(Spill::default().share(usable as u64, 10));
        assert!(
            left.abs_diff(KEYS * share / 1_000) <= KEYS / 100,
            "{left} of {KEYS} at {share} permille"
        );
        let gone = format!("i{usable:02}");
        for (n, (before, now)) in before.iter().zip(&now).enumerate() {
            assert!(now.1 || !before.1, "key {n} came back while it got worse");
            let may_move = now.1 && !before.1 || before.0 == gone;
            assert!(before.0 == now.0 || may_move, "key {n}: {before:?} {now:?}");
        }
        before = now;
    }
    let lost = owners(&view(0));
    for (before, lost) in before.iter().zip(&lost) {
        assert!(lost.1 && lost.0.as_str() >= "i10");
        assert!(before == lost || !before.1, "who had left stays there");
    }
}

#[test]
fn a_configured_share_leaves_a_healthy_zone() {
    let spill = Spill::default().with_permille(100).expect("legal");
    let view = View::first(ViewConfig::default(), plans(spill), zones(10), |_| None);
    let left = owners(&view).iter().filter(|(_, left)| *left).count();
    assert!(left.abs_diff(KEYS / 10) <= KEYS / 100, "{left}");
    let key = view.key(PlanId::nth(0), &RequestTags::new().with_zone("a"));
    let shown: Vec<_> = view
        .resolve(&key)
        .stages()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        shown,
        [
            "[zone=a: 10 usable of 10, 100 permille go on]",
            "[zone!=a: 10 usable of 10]"
        ]
    );
}

/// What does not fit goes nowhere when nobody could take it.
#[test]
fn keys_stay_where_no_other_stage_can_serve() {
    let alone = snapshot([
        instance("here").zone("a"),
        instance("here, sick").zone("a").healthy(false),
        instance("there, sick").zone("b").healthy(false),
    ]);
    let view = View::first(panic_below(0), plans(Spill::default()), alone, |_| None);
    let route = view.resolve(&view.key(PlanId::nth(0), &RequestTags::new().with_zone("a")));
    assert_eq!(route.stages()[0].spilled, 0);
    assert!(
        owners(&view)
            .iter()
            .all(|(owner, left)| owner == "here" && !left)
    );
}

#[test]
fn requests_without_a_key_are_drawn_in_the_same_share() {
    let view = View::first(panic_below(0), plans(Spill::default()), zones(5), |_| None);
    let route = view.resolve(&view.key(PlanId::nth(0), &RequestTags::new().with_zone("a")));
    let mut draw = 0_u64;
    let spilled = (0..KEYS).filter(|_| {
        let chosen = route.choose(None, || {
            draw += 1;
            draw
        });
        chosen.expect("a pool").is_spilled
    });
    let spilled = spilled.count();
    assert!(
        spilled.abs_diff(KEYS * 300 / 1_000) <= KEYS / 100,
        "{spilled}"
    );
    assert_eq!(draw, KEYS as u64);
}

/// Weights count, not heads; ejected ones are as good as gone.
#[test]
fn capacity_is_weighed() {
    let zones = snapshot([
        instance("big").zone("a").weight(900),
        instance("small").zone("a").weight(100),
        instance("there").zone("b"),
    ]);
    for (out, share) in [("small", 0), ("big", 860)] {
        let is_out = |place| (zones.index_of(out) == Some(place)).then_some(Absence::Ejected);
        let view = View::first(
            panic_below(0),
            plans(Spill::default()),
            Arc::clone(&zones),
            is_out,
        );
        let route = view.resolve(&view.key(PlanId::nth(0), &RequestTags::new().with_zone("a")));
        assert_eq!(route.stages()[0].spilled, share, "without {out}");
    }
}

#[test]
fn a_chain_of_stages_passes_on_from_each() {
    let spill = || Spill::default().with_permille(500).expect("legal");
    let zone = |zone| {
        StageTemplate::any()
            .and(Attribute::Zone, Match::is(zone))
            .with_spill(spill())
    };
    let plan = RoutePlan::of_stages(["a", "b", "c"].map(zone)).expect("legal");
    let fleet = snapshot(["a", "b", "c"].map(|zone| instance(zone).zone(zone)));
    let view = View::first(
        ViewConfig::default(),
        RoutePlans::new([plan]),
        fleet,
        |_| None,
    );
    let route = view
        .route(PlanId::nth(0), &RequestTags::new())
        .expect("prepared");
    let mut stages = [0_usize; 3];
    for n in 0..KEYS {
        let chosen = route.choose(Some(key(n).as_bytes()), || 0).expect("a pool");
        stages[chosen.stage] += 1;
    }
    for (stage, share) in [(0, 500), (1, 250), (2, 250)] {
        let ideal = KEYS * share / 1_000;
        assert!(stages[stage].abs_diff(ideal) <= KEYS / 100, "{stages:?}");
    }
}

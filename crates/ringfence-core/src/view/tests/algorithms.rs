//! Views whose keys are mapped by other algorithms than the own ring.

use super::*;
use crate::{
    pool::name_seed,
    ring::{EnvoyRing, HashAlgorithm, Jump, Ketama, Maglev, Nginx, Ring, Slots},
    routing::{RoutePlan, StageTemplate},
};

fn algorithms() -> [HashAlgorithm; 8] {
    [
        HashAlgorithm::Ring,
        EnvoyRing::default().into(),
        Maglev::default()
            .with_table_size(1_009)
            .expect("prime")
            .into(),
        Nginx::default().into(),
        Ketama::default().into(),
        Jump::default().into(),
        HashAlgorithm::Rendezvous,
        Slots::default().into(),
    ]
}

fn by(algorithm: &HashAlgorithm) -> ViewConfig {
    ViewConfig::default().with_ring(RingConfig::default().with_algorithm(algorithm.clone()))
}

/// Two zones, weights of several kinds, listed from the last to the first.
fn fleet() -> Arc<Snapshot> {
    snapshot((0..12_u32).rev().map(|n| {
        Instance::builder(format!("i{n:02}"), format!("10.0.0.{n}:80"))
            .zone(if n % 3 == 0 { "a" } else { "b" })
            .weight([100, 200, 0, 100, 50, 100][n as usize % 6])
            .healthy(n != 4)
    }))
}

fn zones() -> RoutePlans {
    let stage = StageTemplate::any().and_requested(Attribute::Zone);
    RoutePlans::new([RoutePlan::of_stages([stage, StageTemplate::any()]).expect("legal")])
}

fn keys() -> impl Iterator<Item = String> {
    (0..300).map(|n| format!("user-{n}"))
}

/// A request that comes before its route is prepared goes where all later ones go.
#[test]
fn a_key_has_the_same_walk_before_and_after_its_route_is_prepared() {
    for algorithm in algorithms() {
        let tags = RequestTags::new().with_zone("b");
        let bare = View::first(by(&algorithm), zones(), fleet(), |_| None);
        let key = bare.key(PlanId::nth(0), &tags);
        let prepared = bare.next(zones(), Arc::clone(bare.snapshot()), [key.clone()], |_| {
            None
        });
        assert!(bare.route(PlanId::nth(0), &tags).is_none());
        let resolved = bare.resolve(&key);
        let route = prepared.route(PlanId::nth(0), &tags).expect("prepared");
        let own = prepared
            .pools()
            .find(|pool| pool.pool().len() == 8)
            .and_then(|pool| pool.ring())
            .expect("a ring of the zone");
        let (_, pool) = route.chosen().expect("a pool");
        let made = Ring::build(pool.pool(), own.config());
        for key in keys() {
            let walk = |route: &Route| {
                let chosen = route.choose(Some(key.as_bytes()), || 0).expect("a pool");
                assert_eq!(chosen.pool.pool().len(), 8);
                let walk = chosen.walk(key.as_bytes(), 0, 5);
                walk.filter_map(|(pool, member)| {
                    pool.pool().members().get(member as usize).copied()
                })
                .collect::<Vec<_>>()
            };
            assert_eq!(walk(&resolved), walk(route), "{algorithm} {key}");
            // It is that of a ring made of the pool, past the one that is not healthy.
            let hashed = pool.hash_key(key.as_bytes(), 0);
            let usable = made.walk_where(hashed, |member| pool.is_usable(member));
            assert!(usable.eq(pool.walk(hashed)), "{algorithm} {key}");
        }
    }
}

/// The last attempt of a request goes beyond its pool, whatever the algorithm.
#[test]
fn a_walk_ends_beyond_its_pool() {
    for algorithm in algorithms() {
        let stages = [
            StageTemplate::any().and(Attribute::Zone, Match::is("a")),
            StageTemplate::any(),
        ];
        let plans = RoutePlans::new([RoutePlan::of_stages(stages).expect("legal")]);
        let view = View::first(by(&algorithm), plans, fleet(), |_| None);
        let route = view
            .route(PlanId::nth(0), &RequestTags::new())
            .expect("prepared");
        for key in keys() {
            let chosen = route.choose(Some(key.as_bytes()), || 0).expect("a pool");
            let next = chosen.next.expect("all");
            let walk: Vec<_> = chosen.walk(key.as_bytes(), 0, 3).collect();
            let (pool, last) = *walk.last().expect("three");
            assert_eq!(walk.len(), 3, "{algorithm} {key}");
            assert!(std::ptr::eq(pool, next));
            // Nobody of the pool: the first outside of it on the way of all.
            let outside = next.walk(next.hash_key(key.as_bytes(), 0)).find(|&member| {
                let zone = next.pool().instance(member).and_then(|i| i.zone());
                zone == Some("b")
            });
            assert_eq!(outside, Some(last), "{algorithm} {key}");
        }
    }
}

#[test]
fn an_explanation_shows_the_walk() {
    for algorithm in algorithms() {
        let tags = RequestTags::new().with_zone("b");
        let bare = View::first(by(&algorithm), zones(), fleet(), |_| None);
        let resolved = bare.resolve(&bare.key(PlanId::nth(0), &tags));
        let (_, pool) = resolved.chosen().expect("a pool");
        for key in keys().take(50) {
            let hashed = pool.hash_key(key.as_bytes(), 0);
            let steps = bare.steps(pool, hashed, usize::MAX);
            let candidates = steps.filter(|step| step.verdict == StepVerdict::Candidate);
            let candidates: Vec<usize> = candidates.map(|step| step.place).collect();
            let walk = pool.walk(hashed);
            let walk = walk.map(|member| pool.pool().members()[member as usize] as usize);
            assert_eq!(candidates, walk.collect::<Vec<_>>(), "{algorithm} {key}");
            let shown = bare.steps(pool, hashed, usize::MAX);
            let members = shown.filter(|step| step.verdict != StepVerdict::NotAMember);
            assert_eq!(
                members.count(),
                8,
                "{algorithm}: every member is shown once"
            );
        }
    }
}

#[test]
fn a_tenant_can_have_a_ring_of_its_own() {
    for algorithm in algorithms() {
        let seed = name_seed("acme");
        let own = StageTemplate::any().with_ring_seed(seed);
        let plans = RoutePlans::new([RoutePlan::of_stages([own]).expect("legal")]);
        let view = View::first(by(&algorithm), plans, fleet(), |_| None);
        let route = view
            .route(PlanId::nth(0), &RequestTags::new())
            .expect("prepared");
        let (_, pool) = route.chosen().expect("a pool");
        let config = view.config().ring().clone().with_seed(seed);
        let everyone = Pool::select(view.snapshot(), &Selector::any());
        let expected = Ring::build(&everyone, &config);
        let ring = pool.ring().expect("its own");
        assert_eq!(ring.fingerprint(), expected.fingerprint(), "{algorithm}");
        assert_ne!(ring.fingerprint(), view.whole_ring().fingerprint());
    }
}

/// Rings of other settings are made anew, and going back gives the ones before.
#[test]
fn the_next_view_can_have_other_rings() {
    let first = View::first(ViewConfig::default(), zones(), fleet(), |_| None);
    let route = first.key(PlanId::nth(0), &RequestTags::new().with_zone("b"));
    let usual = first.next(zones(), fleet(), [route.clone()], |_| None);
    let prints = |view: &View| {
        let rings = view.pools().filter_map(|pool| pool.ring());
        rings.map(|ring| ring.fingerprint()).collect::<Vec<_>>()
    };
    for algorithm in algorithms().into_iter().skip(1) {
        let config = by(&algorithm);
        let ring = config.ring();
        let other = usual.next_with_ring(ring, zones(), fleet(), [route.clone()], |_| None);
        assert_eq!(other.config().ring(), ring);
        let fresh = View::first(config.clone(), zones(), fleet(), |_| None);
        let fresh = fresh.next(zones(), fleet(), [route.clone()], |_| None);
        assert_eq!(prints(&other), prints(&fresh), "{algorithm}");
        assert_eq!(
            other.whole_ring().fingerprint(),
            fresh.whole_ring().fingerprint()
        );
        let kept = other.next(zones(), fleet(), [route.clone()], |_| None);
        assert_eq!(kept.config().ring(), ring, "{algorithm}");
        assert!(Arc::ptr_eq(kept.whole_ring(), other.whole_ring()));
        let back = RingConfig::default();
        let back = kept.next_with_ring(&back, zones(), fleet(), [route.clone()], |_| None);
        assert_eq!(prints(&back), prints(&usual), "{algorithm}");
        assert_eq!(back.epoch(), usual.epoch() + 3);
    }
}

//! Updated rings against rings built anew.

use std::{collections::BTreeMap, sync::Arc};

use proptest::prelude::*;

use super::{
    super::points::Points,
    model::{BENDS, Model, native},
    warp,
};
use crate::{
    instance::Instance,
    pool::{Pool, Selector},
    ring::{KeyHash, Ring, RingConfig},
    snapshot::Snapshot,
};

/// Instances by number; those that stay the same are shared, as a source shares them.
#[derive(Clone, Default)]
struct Fleet(BTreeMap<u32, Arc<Instance>>);

impl Fleet {
    fn of(numbers: std::ops::Range<u32>) -> Self {
        let mut fleet = Self::default();
        numbers.for_each(|n| fleet.set(n, 100));
        fleet
    }

    fn set(&mut self, n: u32, weight: u32) {
        let instance = Instance::builder(format!("i{n:04}"), "10.0.0.1:80").weight(weight);
        let instance = instance.build().expect("legal");
        self.0.insert(n, Arc::new(instance));
    }

    fn pool(&self) -> Pool {
        let snapshot = Snapshot::from_shared(self.0.values().map(Arc::clone));
        Pool::select(&Arc::new(snapshot), &Selector::any())
    }
}

fn few_points() -> RingConfig {
    RingConfig::default()
        .with_points_per_instance(8)
        .expect("legal")
}

/// SplitMix64, as a source of chance that is the same in each run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(1);
        super::super::layout::split_mix(self.0, 1) % end
    }

    fn number(&mut self, end: u64) -> u32 {
        u32::try_from(self.below(end)).expect("small")
    }
}

/// Adds, removes or weighs anew one instance, or many.
fn change(fleet: &mut Fleet, chance: &mut Chance, grows: bool) {
    let changes = match chance.below(40) {
        0 => chance.below(200),
        1..5 => chance.below(8),
        _ => 1,
    };
    for _ in 0..changes {
        let id = chance.number(600);
        let is_there = fleet.0.contains_key(&id);
        match chance.below(6) {
            0 if is_there => fleet.set(id, 0),
            1 if is_there => fleet.set(id, chance.number(300)),
            _ if grows => fleet.set(id, 50 + chance.number(100)),
            _ => drop(fleet.0.remove(&id)),
        }
    }
}

/// Changes a ring many times; it must stay equal to one built anew.
fn drift(config: &RingConfig, steps: u32, seed: u64) -> [u32; 2] {
    let mut chance = Chance(seed);
    let mut fleet = Fleet::default();
    let mut ring = Arc::new(Ring::build(&fleet.pool(), config));
    let mut crossings = [0; 2];
    for step in 0..steps {
        // Up and down again, across the size at which a ring is cut into shards.
        change(&mut fleet, &mut chance, step / 250 % 2 == 0);
        let pool = fleet.pool();
        let before = matches!(native(&ring).points, Points::Sharded(_));
        ring = ring.update(&pool);
        let after = matches!(native(&ring).points, Points::Sharded(_));
        match (before, after) {
            (false, true) => crossings[0] += 1,
            (true, false) => crossings[1] += 1,
            _ => {}
        }
        if step % 16 == 0 {
            let fresh = Ring::build(&pool, config);
            assert_eq!(
                ring.fingerprint(),
                fresh.fingerprint(),
                "seed {seed}, step {step}"
            );
            assert!(ring.points().eq(fresh.points()), "seed {seed}, step {step}");
            assert_eq!(ring.len(), fresh.len());
            for _ in 0..16 {
                let key = KeyHash::from_raw(chance.below(u64::MAX));
                assert_eq!(
                    ring.owner(key),
                    fresh.owner(key),
                    "seed {seed}, step {step}"
                );
                let walk: Vec<_> = ring.walk(key).take(12).collect();
                assert!(
                    fresh.walk(key).take(12).eq(walk),
                    "seed {seed}, step {step}"
                );
            }
        }
    }
    let fresh = Ring::build(&fleet.pool(), config);
    assert!(ring.points().eq(fresh.points()), "seed {seed}");
    crossings
}

#[test]
fn ten_thousand_changes_leave_the_ring_that_a_build_makes() {
    let [up, down] = drift(&few_points(), 10_000, 1);
    assert!(
        up >= 5 && down >= 5,
        "both structures, {up} times up and {down} down"
    );
}

/// Where the cap is in force, a change of one scales all.
#[test]
fn changes_of_a_capped_ring_leave_the_ring_that_a_build_makes() {
    let config = few_points().with_max_ring_points(1_500).expect("legal");
    drift(&config, 1_500, 2);
}

/// Owners of points that agree in what is kept, or in all, come and go (B13).
#[test]
fn changes_of_colliding_points_leave_the_ring_that_a_build_makes() {
    for bend in [5, 6, 8] {
        let _warped = warp::warp(BENDS[bend].1);
        drift(&few_points(), 300, 3);
    }
}

#[test]
fn several_probes_survive_changes() {
    drift(&few_points().with_probes(3).expect("legal"), 1_000, 4);
}

/// A ring that shrank does not keep the table of its largest size.
#[test]
fn slots_of_those_who_left_are_used_again_or_given_up() {
    let config = few_points();
    let fleet = Fleet::of(0..400);
    let mut ring = Arc::new(Ring::build(&fleet.pool(), &config));
    for round in 0..50 {
        let mut others = fleet.clone();
        others.0.remove(&round);
        others.set(1_000 + round, 100);
        ring = ring.update(&others.pool());
        ring = ring.update(&fleet.pool());
    }
    let slots = |ring: &Ring| native(ring).owners.members().len();
    assert!(slots(&ring) <= 401, "{} slots", slots(&ring));
    for left in (100..400).rev() {
        ring = ring.update(&Fleet::of(0..left).pool());
    }
    assert!(slots(&ring) <= 264, "{} slots", slots(&ring));
}

/// An update writes the shards of the points that came or went, and shares all others with the ring before.
#[test]
fn shards_without_a_change_are_shared() {
    let config = RingConfig::default();
    let fleet = Fleet::of(0..300);
    let ring = Arc::new(Ring::build(&fleet.pool(), &config));
    let Points::Sharded(before) = &native(&ring).points else {
        panic!("48,000 points are sharded");
    };
    let (mut more, mut fewer, mut lighter) = (fleet.clone(), fleet.clone(), fleet.clone());
    more.set(500, 100);
    fewer.0.remove(&7);
    lighter.set(9, 50);
    for (what, changed, id) in [
        ("more", more, 500),
        ("fewer", fewer, 7),
        ("lighter", lighter, 9),
    ] {
        let updated = ring.update(&changed.pool());
        let Points::Sharded(after) = &native(&updated).points else {
            panic!("still sharded");
        };
        let source = super::PointSource::new(&format!("i{id:04}"), 0);
        let first = if what == "lighter" { 80 } else { 0 };
        let mut touched: Vec<_> = (first..160)
            .map(|i| before.cut.bucket(source.point(i)))
            .collect();
        touched.sort_unstable();
        touched.dedup();
        let pairs = before.shards().iter().zip(after.shards());
        let written: Vec<usize> = (0..)
            .zip(pairs)
            .filter(|(_, (a, b))| !a.is_shared_with(b))
            .map(|(bucket, _)| bucket)
            .collect();
        assert_eq!(written, touched, "{what}");
    }
}

/// Position and id of each point that is not of one instance.
fn others(pool: &Pool, ring: &Ring, id: &str) -> Vec<(u64, String)> {
    let named = ring.points().filter_map(|(position, member)| {
        let instance = pool.instance(member)?;
        Some((position, instance.id().to_string()))
    });
    named.filter(|(_, of)| of != id).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, ..ProptestConfig::default() })]

    /// Weights up, down and back, drains, joins and leaves: nobody else's points move, and keys only from or to the one.
    #[test]
    fn a_change_of_one_instance_moves_nothing_between_others(
        size in 20u32..300,
        changes in prop::collection::vec((0u32..320, prop::option::of(0u32..400)), 50),
        probes in prop_oneof![Just(1u32), Just(2)],
    ) {
        let config = RingConfig::default().with_points_per_instance(16);
        let config = config.and_then(|c| c.with_probes(probes)).expect("legal");
        let mut fleet = Fleet::of(0..size);
        let mut pool = fleet.pool();
        let mut ring = Arc::new(Ring::build(&pool, &config));
        let owner = |pool: &Pool, ring: &Ring, key: u64| {
            let member = ring.owner(KeyHash::from_raw(key));
            member.and_then(|member| pool.instance(member)).map(|i| i.id().to_string())
        };
        for (id, weight) in changes {
            match weight {
                Some(weight) => fleet.set(id, weight),
                None => drop(fleet.0.remove(&id)),
            }
            let (new_pool, id) = (fleet.pool(), format!("i{id:04}"));
            let new_ring = ring.update(&new_pool);
            prop_assert_eq!(others(&pool, &ring, &id), others(&new_pool, &new_ring, &id));
            for n in 0..200u64 {
                let key = config.hash_key(&n.to_le_bytes()).get();
                let (from, to) = (owner(&pool, &ring, key), owner(&new_pool, &new_ring, key));
                let changed = Some(&id);
                prop_assert!(from == to || from.as_ref() == changed || to.as_ref() == changed);
            }
            (pool, ring) = (new_pool, new_ring);
        }
        Model::of(&pool, &ring).check(&ring, &[0, 1 << 40, u64::MAX]);
    }
}

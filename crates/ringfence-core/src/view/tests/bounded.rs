//! The first clockwise that has room.

use proptest::prelude::*;

use super::*;
use crate::load::{HashBalanceFactor, LoadLimits, Taker};

fn of_weights(weights: &[u32]) -> View {
    let weights = weights.iter().enumerate();
    view(weights.map(|(n, weight)| instance(&format!("i{n:03}")).weight(*weight)))
}

fn factor(percent: u32) -> HashBalanceFactor {
    HashBalanceFactor::new(percent).expect("legal")
}

fn limits(percent: u32) -> LoadLimits {
    LoadLimits::default().with_balance_factor(Some(factor(percent)))
}

fn pool(view: &View) -> &PoolView {
    let route = view.route(PlanId::ROUTING, &RequestTags::new());
    route.and_then(|route| route.chosen()).expect("a pool").1
}

/// The member that takes a request, and how often the loads were looked at.
fn taker(pool: &PoolView, key: KeyHash, percent: u32, loads: &[u64]) -> Option<(u32, usize)> {
    let asked = std::cell::Cell::new(0);
    let taker = pool.taker(
        key,
        limits(percent),
        |_| true,
        |member| {
            asked.set(asked.get() + 1);
            loads[member as usize]
        },
    );
    let taker = match taker? {
        Taker::Owner => pool.walk(key).next()?,
        Taker::Other(member) => member,
        Taker::Nobody => return None,
    };
    Some((taker, asked.get()))
}

#[test]
fn an_idle_owner_takes_the_request_and_nobody_else_is_looked_at() {
    let view = of_weights(&[100; 10]);
    let key = KeyHash::from_raw(7);
    let owner = pool(&view).walk(key).next().expect("an owner");
    let mut loads = [1_000; 10];
    loads[owner as usize] = 0;
    assert_eq!(taker(pool(&view), key, 125, &loads), Some((owner, 1)));
}

#[test]
fn a_hot_key_spills_clockwise_and_comes_home() {
    let view = of_weights(&[100; 10]);
    let pool = pool(&view);
    let key = KeyHash::from_raw(7);
    let walk: Vec<u32> = pool.walk(key).collect();
    let mut loads = [0; 10];
    let mut takers = Vec::new();
    for _ in 0..100 {
        let (taker, _) = taker(pool, key, 125, &loads).expect("one");
        loads[taker as usize] += 1;
        takers.push(taker);
    }
    // In the order of the walk, nobody above ceil(1.25 * 100 / 10), and no more members than it takes.
    let in_order: Vec<u64> = walk.iter().map(|member| loads[*member as usize]).collect();
    assert_eq!(in_order, [13, 13, 13, 13, 12, 12, 12, 12, 0, 0]);
    assert_eq!(takers[..3], [walk[0], walk[1], walk[2]]);
    assert_eq!(taker(pool, key, 125, &[0; 10]), Some((walk[0], 1)));
}

#[test]
fn where_nobody_has_room_the_owner_takes_it() {
    let view = of_weights(&[100; 3]);
    let pool = pool(&view);
    let key = KeyHash::from_raw(7);
    // Loads that rise while they are looked at, as under many threads.
    let load = std::cell::Cell::new(1);
    let rising = |_| {
        load.set(load.get() * 2);
        load.get()
    };
    assert_eq!(
        pool.taker(key, limits(101), |_| true, rising),
        Some(Taker::Owner)
    );
}

#[test]
fn a_full_one_is_passed_by_and_where_all_are_full_nobody_takes_it() {
    let view = of_weights(&[100; 12]);
    let pool = pool(&view);
    let key = KeyHash::from_raw(7);
    let walk: Vec<u32> = pool.walk(key).collect();
    for limits in [LoadLimits::default(), limits(101)] {
        let limits = limits.with_most(3);
        for full in 0..=12 {
            let load = |member: u32| {
                let is_full = walk[..full].contains(&member);
                if is_full { 3 } else { 0 }
            };
            let expected = match full {
                0 => Taker::Owner,
                12 => Taker::Nobody,
                _ => Taker::Other(walk[full]),
            };
            assert_eq!(pool.taker(key, limits, |_| true, load), Some(expected));
        }
    }
    let nobody = of_weights(&[0, 0]);
    let route = nobody.route(PlanId::ROUTING, &RequestTags::new());
    assert!(route.and_then(|route| route.chosen()).is_none());
}

#[test]
fn those_who_are_out_neither_count_nor_take() {
    let all = snapshot((0..4).map(|n| instance(&format!("i{n}"))));
    let out = |place: usize| (place == 2).then_some(Absence::Ejected);
    let view = View::first(ViewConfig::default(), RoutePlans::default(), all, out);
    let pool = pool(&view);
    for raw in 0..64 {
        let key = KeyHash::from_raw(raw << 58);
        let owner = pool.walk(key).next().expect("an owner");
        // What is left on the one that is out would raise the bound of the others to 13.
        let mut loads = [0, 0, 30, 0];
        loads[owner as usize] = 2;
        let (taker, _) = taker(pool, key, 125, &loads).expect("one");
        assert!(taker != owner && taker != 2, "{taker} takes it");
    }
}

proptest! {
    #[test]
    fn nobody_passes_the_bound_and_the_order_is_the_walks(
        weights in prop::collection::vec(1_u32..300, 1..24),
        percent in 101_u32..300,
        keys in prop::collection::vec(any::<u64>(), 1..120),
    ) {
        let view = of_weights(&weights);
        let pool = pool(&view);
        let sum = weights.iter().map(|weight| u64::from(*weight)).sum();
        let mut loads = vec![0; weights.len()];
        for (total, key) in (0..).zip(keys) {
            let key = KeyHash::from_raw(key);
            let has_room = |member: u32| {
                let member = member as usize;
                factor(percent).has_room(loads[member], total, weights[member], sum)
            };
            let expected = pool.walk(key).find(|member| has_room(*member));
            let chosen = taker(pool, key, percent, &loads).map(|(taker, _)| taker);
            prop_assert!(expected.is_some(), "somebody always has room");
            prop_assert_eq!(chosen, expected);
            if let Some(chosen) = chosen {
                let member = chosen as usize;
                loads[member] += 1;
                let bound = factor(percent).bound(total, weights[member], sum);
                prop_assert!(loads[member] <= bound);
            }
        }
    }

    #[test]
    fn a_hot_key_moves_no_key_whose_owner_has_room(
        size in 2_usize..24,
        hot in any::<u64>(),
        key in any::<u64>(),
        requests in 1_u64..200,
    ) {
        let view = of_weights(&vec![100; size]);
        let pool = pool(&view);
        let mut loads = vec![0; size];
        for _ in 0..requests {
            let (taker, _) = taker(pool, KeyHash::from_raw(hot), 125, &loads).expect("one");
            loads[taker as usize] += 1;
        }
        let key = KeyHash::from_raw(key);
        let owner = pool.walk(key).next().expect("an owner");
        let bound = factor(125).bound(requests, 100, 100 * size as u64);
        if loads[owner as usize] < bound {
            let (taker, _) = taker(pool, key, 125, &loads).expect("one");
            prop_assert_eq!(taker, owner);
        }
    }
}

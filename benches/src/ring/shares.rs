//! How even the shares are, and what a change moves: exact, from the points.

use std::collections::BTreeMap;

use ringfence_core::{InstanceId, KeyHash, Pool, Ring, RingConfig};

use crate::{data, goals::Row};

/// Keys that may move.
const MOVING: u64 = 1 << 20;
/// Keys of a sample, where several probes leave no arcs to measure: of 200 instances each gets 40,000, so that chance adds half a per
/// cent.
const SAMPLE: u64 = 1 << 23;

pub(crate) fn measure() -> Vec<Row> {
    let mut rows = Vec::new();
    for count in [10, 100, 1_000] {
        let pool = data::pool(count);
        let ring = Ring::build(&pool, &RingConfig::default());
        let shares = exact(&ring, count);
        let (sd, max) = spread(&shares);
        let row = Row::steady(format!("evenness, N={count}"), "sd/mean of the shares", sd);
        rows.push(if count == 100 {
            row.at_most(0.10, 0.085)
        } else {
            row
        });
        rows.push(Row::steady(
            format!("evenness, N={count}"),
            "max/mean of the shares",
            max,
        ));
    }
    for count in [3, 10, 50, 100, 200] {
        let config = RingConfig::default().with_probes(8).expect("in range");
        let ring = Ring::build(&data::pool(count), &config);
        let (sd, max) = spread(&sampled(&ring, count));
        let row = Row::steady(
            format!("evenness at 8 probes, N={count}"),
            "max/mean of the shares",
            max,
        );
        rows.push(
            row.at_most(1.08, 1.06)
                .with_sides(format!("sd/mean {sd:.3}")),
        );
    }
    for probes in [1, 8] {
        for count in [5, 100] {
            rows.push(moved(count, probes));
        }
    }
    rows.extend(super::parity::measure());
    rows
}

/// Shares of the circle.
#[expect(clippy::cast_precision_loss, reason = "shares for people")]
fn exact(ring: &Ring, count: u32) -> Vec<f64> {
    let mut shares = vec![0.0; count as usize];
    let mut before = ring.points().last().map_or(0, |(position, _)| position);
    for (position, member) in ring.points() {
        shares[member as usize] += position.wrapping_sub(before) as f64;
        before = position;
    }
    shares
}

/// Shares of evenly spread keys.
fn sampled(ring: &Ring, count: u32) -> Vec<f64> {
    let mut shares = vec![0.0; count as usize];
    for key in sample(SAMPLE) {
        if let Some(owner) = ring.owner(key) {
            shares[owner as usize] += 1.0;
        }
    }
    shares
}

fn sample(count: u64) -> impl Iterator<Item = KeyHash> {
    let mut rng = fastrand::Rng::with_seed(3);
    (0..count).map(move |_| KeyHash::from_raw(rng.u64(..)))
}

/// Standard deviation and maximum to the mean.
#[expect(clippy::cast_precision_loss, reason = "shares for people")]
fn spread(shares: &[f64]) -> (f64, f64) {
    let mean = shares.iter().sum::<f64>() / shares.len() as f64;
    let variance = shares
        .iter()
        .map(|share| (share - mean).powi(2))
        .sum::<f64>()
        / shares.len() as f64;
    let max = shares.iter().copied().fold(0.0, f64::max);
    (variance.sqrt() / mean, max / mean)
}

/// When the first of `count` leaves: keys of the others that get another owner.
#[expect(clippy::cast_precision_loss, reason = "a figure for people")]
fn moved(count: u32, probes: u32) -> Row {
    let config = RingConfig::default().with_probes(probes).expect("in range");
    let (all, rest) = (data::pool(count), without_first(count));
    let (before, after) = (Ring::build(&all, &config), Ring::build(&rest, &config));
    let gone = all.instance(0).map(|instance| instance.id().clone());
    let mut moves = BTreeMap::<InstanceId, u64>::new();
    for key in sample(MOVING) {
        let owner = |pool: &Pool, ring: &Ring| {
            let instance = ring.owner(key).and_then(|member| pool.instance(member));
            instance.map(|instance| instance.id().clone())
        };
        let (before, after) = (owner(&all, &before), owner(&rest, &after));
        if let Some(before) = before.filter(|before| Some(before) != gone.as_ref())
            && Some(&before) != after.as_ref()
        {
            *moves.entry(before).or_default() += 1;
        }
    }
    let moved: u64 = moves.values().sum();
    let what = format!("one of {count} leaves, probes {probes}");
    Row::steady(
        what,
        "keys of the others that move, of a million",
        moved as f64,
    )
    .at_most(0.0, 0.0)
}

fn without_first(count: u32) -> Pool {
    let all = data::pool(count);
    let first = all.instance(0).map(|instance| instance.id().clone());
    let rest = all.snapshot().instances().iter();
    let rest = rest.filter(|instance| Some(instance.id()) != first.as_ref());
    let snapshot = ringfence_core::Snapshot::from_shared(rest.cloned());
    Pool::select(
        &std::sync::Arc::new(snapshot),
        &ringfence_core::Selector::any(),
    )
}

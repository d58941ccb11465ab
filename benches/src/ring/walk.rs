//! Who comes behind the owner, and who takes the keys of instances that are out.

use std::{hint::black_box, net::SocketAddr};

use ringfence_core::{Ring, RingConfig};

use super::peers;
use crate::{
    data::{self, Keys},
    goals::Row,
    harness::{Work, interleaved, timed},
};

const COUNT: u32 = 1_000;
const WALKS: u32 = 100_000;

pub(crate) fn measure(keys: &[[u8; 16]]) -> Vec<Row> {
    let pool = data::pool(COUNT);
    let config = RingConfig::default();
    let ring = Ring::build(&pool, &config);
    let pingora = peers::pingora(COUNT);
    let times = interleaved(
        WALKS,
        [
            walks(keys, |key| {
                let three = ring.walk(config.hash_key(key)).take(3);
                three.fold(0, |sum, member| sum ^ member)
            }),
            walks(keys, |key| {
                let mut seen: [Option<SocketAddr>; 3] = [None; 3];
                let mut found = 0;
                for node in pingora.node_iter(key) {
                    if !seen.contains(&Some(*node)) {
                        seen[found] = Some(*node);
                        found += 1;
                        if found == seen.len() {
                            break;
                        }
                    }
                }
                u32::from(found == seen.len())
            }),
        ],
    );
    let row = Row::noisy(
        format!("first 3 distinct, N={COUNT}"),
        "time to pingora's node_iter",
        times.ratio(0, 1),
    );
    let mut rows = vec![row.at_most(1.0, 0.6).with_sides(times.sides(0, 1))];

    let skipping = |share: u32| {
        let mut rng = fastrand::Rng::with_seed(11);
        let mut usable = vec![0u64; COUNT.div_ceil(64) as usize];
        for member in 0..COUNT {
            if rng.u32(..100) >= share {
                usable[member as usize / 64] |= 1 << (member % 64);
            }
        }
        usable
    };
    let sets = [0, 10, 50, 90, 99].map(skipping);
    let works = sets.each_ref().map(|usable| {
        walks(keys, |key| {
            let is_usable = |member: u32| usable[member as usize / 64] & (1 << (member % 64)) != 0;
            ring.walk_where(config.hash_key(key), is_usable)
                .next()
                .unwrap_or(0)
        })
    });
    let times = interleaved(WALKS, works);
    for (place, share) in [(1, 10), (2, 50), (3, 90), (4, 99)] {
        let row = Row::noisy(
            format!("{share} % of the instances out, N={COUNT}"),
            "time to none out",
            times.ratio(place, 0),
        );
        let row = if share == 50 {
            row.at_most(3.0, 2.0)
        } else {
            row
        };
        rows.push(row.with_sides(times.sides(place, 0)));
    }
    rows
}

fn walks<'a>(keys: &'a [[u8; 16]], walk: impl Fn(&[u8]) -> u32 + 'a) -> Work<'a> {
    let mut keys = Keys::new(keys);
    Box::new(move |count| {
        timed(|| {
            let mut sum = 0;
            for _ in 0..count {
                sum ^= walk(keys.next());
            }
            black_box(sum);
        })
    })
}

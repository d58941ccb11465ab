//! The owner of a key, its hash included.

use std::hint::black_box;

use ringfence_core::{Ring, RingConfig};

use super::peers;
use crate::{
    data::{self, Keys, SIZES},
    goals::Row,
    harness::{Work, interleaved, timed},
};

const PICKS: u32 = 200_000;
const PROBES: u32 = 8;

pub(crate) fn measure(keys: &[[u8; 16]]) -> Vec<Row> {
    let mut rows = Vec::new();
    for count in SIZES {
        for is_dependent in [false, true] {
            rows.extend(at(keys, count, is_dependent));
        }
    }
    rows
}

fn at(keys: &[[u8; 16]], count: u32, is_dependent: bool) -> Vec<Row> {
    let pool = data::pool(count);
    let config = RingConfig::default();
    let ring = Ring::build(&pool, &config);
    let probing = config.clone().with_probes(PROBES).expect("in range");
    let probed = Ring::build(&pool, &probing);
    let (pingora, hashring) = (peers::pingora(count), peers::hashring(count));
    let times = interleaved(
        PICKS,
        [
            picks(keys, is_dependent, |key| {
                ring.owner(config.hash_key(key)).unwrap_or(0)
            }),
            picks(keys, is_dependent, |key| {
                pingora
                    .node(key)
                    .map_or(0, |node| u32::from_be_bytes(octets(node)))
            }),
            picks(keys, is_dependent, |key| {
                hashring.get(key).map_or(0, |(instance, _)| *instance)
            }),
            picks(keys, is_dependent, |key| {
                probed.owner(probing.hash_key(key)).unwrap_or(0)
            }),
        ],
    );
    let way = if is_dependent {
        "dependent"
    } else {
        "independent"
    };
    let row = Row::noisy(
        format!("pick, N={count}, {way}"),
        "time to pingora-ketama's",
        times.ratio(0, 1),
    );
    let row = match (count, is_dependent) {
        (100, false) => row.at_most(0.90, 0.60),
        (100, true) => row.at_most(0.60, 0.45),
        (1_000, false) => row.at_most(0.75, 0.55),
        (1_000, true) => row.at_most(0.60, 0.45),
        (10_000, _) => row.at_most(0.50, 0.35),
        _ => row,
    };
    let mut rows = vec![row.with_sides(times.sides(0, 1))];
    let hashring = Row::noisy(
        format!("pick, N={count}, {way}"),
        "time to hashring's",
        times.ratio(0, 2),
    );
    rows.push(hashring.with_sides(times.sides(0, 2)));
    let row = Row::noisy(
        format!("pick at {PROBES} probes, N={count}, {way}"),
        "time to the plain one",
        times.ratio(3, 0),
    );
    let row = if count == 1_000 {
        row.at_most(6.0, 4.0)
    } else {
        row
    };
    rows.push(row.with_sides(times.sides(3, 0)));
    rows
}

fn octets(address: std::net::SocketAddr) -> [u8; 4] {
    match address {
        std::net::SocketAddr::V4(address) => address.ip().octets(),
        std::net::SocketAddr::V6(_) => [0; 4],
    }
}

fn picks<'a>(
    keys: &'a [[u8; 16]],
    is_dependent: bool,
    pick: impl Fn(&[u8; 16]) -> u32 + 'a,
) -> Work<'a> {
    let mut keys = Keys::new(keys);
    let mut last = 0;
    Box::new(move |count| {
        timed(|| {
            if is_dependent {
                for _ in 0..count {
                    last = pick(keys.after(last));
                }
            } else {
                for _ in 0..count {
                    last ^= pick(keys.next());
                }
            }
            black_box(last);
        })
    })
}

//! What is on the heap.

use allocation_counter::{AllocationInfo, measure as counted};
use ringfence_core::{Ring, RingConfig};

use super::peers;
use crate::{
    data::{self, SIZES},
    goals::Row,
};

pub(crate) fn measure(keys: &[[u8; 16]]) -> Vec<Row> {
    let mut rows = Vec::new();
    for count in SIZES {
        let pool = data::pool(count);
        let config = RingConfig::default();
        let ours = held(Ring::build(&pool, &config));
        let pingora = held(peers::pingora(count));
        let ring = Ring::build(&pool, &config);
        let points = f64::from(count * peers::POINTS);
        let row = Row::steady(
            format!("memory of the ring, N={count}"),
            "bytes a point",
            ours / points,
        );
        let sides = format!("pingora, 32 bits of position: {:.1}", pingora / points);
        let row = row.with_sides(sides);
        rows.push(if count >= 1_000 {
            row.at_most(20.0, 12.0)
        } else {
            row
        });

        let picks = allocations(|| {
            for key in &keys[..1_000] {
                let mut walk = ring.walk(config.hash_key(key));
                std::hint::black_box((walk.next(), walk.next(), walk.next()));
            }
        });
        rows.push(
            Row::steady(
                format!("allocations of a pick and two hops, N={count}"),
                "count",
                picks,
            )
            .at_most(0.0, 0.0),
        );
    }
    rows
}

/// How many bytes something holds: as many as its end gives back. What several threads allocate to make it is not counted.
#[expect(clippy::cast_precision_loss, reason = "a figure for people")]
fn held<T>(made: T) -> f64 {
    -once(|| drop(made)).bytes_current as f64
}

#[expect(clippy::cast_precision_loss, reason = "a figure for people")]
pub(crate) fn allocations(work: impl FnOnce()) -> f64 {
    once(work).count_total as f64
}

fn once(work: impl FnOnce()) -> AllocationInfo {
    let mut work = Some(work);
    counted(|| {
        if let Some(work) = work.take() {
            work();
        }
    })
}

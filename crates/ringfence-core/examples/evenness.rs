//! How even the shares of equal instances are, by probes: prints the table of the guide.
//!
//! `cargo run --release -p ringfence-core --example evenness`
#![allow(clippy::print_stdout, reason = "it is there to print")]

use std::{error::Error, sync::Arc};

use ringfence_core::{Instance, KeyHash, Pool, Ring, RingConfig, Selector, Snapshot};

/// Rings of each kind; one ring is one draw of positions.
const SEEDS: u64 = 8;
/// Keys of each instance in the mean: what chance adds to the deviation is less than 0.01.
const KEYS: u32 = 20_000;
const PROBES: [u32; 5] = [1, 2, 3, 5, 8];

fn main() -> Result<(), Box<dyn Error>> {
    println!(
        "| instances | {} |",
        PROBES.map(|k| format!("probes {k}")).join(" | ")
    );
    println!("|---|{}", "---|".repeat(PROBES.len()));
    for instances in [10, 50, 100, 200] {
        let mut row = format!("| {instances} |");
        for probes in PROBES {
            let (deviation, most) = evenness(instances, probes)?;
            row += &format!(" {deviation:.3} / {most:.2} |");
        }
        println!("{row}");
    }
    Ok(())
}

/// Standard deviation and maximum of the shares, both to the mean.
fn evenness(instances: u32, probes: u32) -> Result<(f64, f64), Box<dyn Error>> {
    let all = (0..instances).map(|n| Instance::builder(format!("node-{n}"), "10.0.0.1:80").build());
    let pool = Pool::select(
        &Arc::new(all.collect::<Result<Snapshot, _>>()?),
        &Selector::any(),
    );
    let (mut deviation, mut most) = (0.0, 0.0);
    for seed in 0..SEEDS {
        let config = RingConfig::default().with_probes(probes)?.with_seed(seed);
        let ring = Ring::build(&pool, &config);
        let mut counts = vec![0u32; instances as usize];
        let keys = u64::from(instances) * u64::from(KEYS);
        for n in 0..keys {
            // Keys a fixed step apart, so that chance adds nothing for one probe and little for more.
            let key = KeyHash::from_raw((u64::MAX / keys).wrapping_mul(n));
            if let Some(count) = ring
                .owner(key)
                .and_then(|owner| counts.get_mut(owner as usize))
            {
                *count += 1;
            }
        }
        let shares = counts
            .iter()
            .map(|count| f64::from(*count) / f64::from(KEYS));
        let variance = shares
            .clone()
            .map(|share| (share - 1.0).powi(2))
            .sum::<f64>();
        deviation += (variance / f64::from(instances)).sqrt() / SEEDS as f64;
        most += shares.fold(0.0, f64::max) / SEEDS as f64;
    }
    Ok((deviation, most))
}

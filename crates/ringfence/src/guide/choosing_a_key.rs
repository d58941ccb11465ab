#![doc = include_str!("choosing_a_key.md")]

#[cfg(test)]
mod tests {
    use std::{collections::HashMap, sync::Arc};

    use crate::{
        Instance, RingConfig, Snapshot,
        core::{Pool, Ring, Selector},
    };

    const INSTANCES: u32 = 10;
    const FLEETS: u32 = 40;

    /// The largest share of keys over the mean, on average of some fleets.
    fn largest(keys: u32) -> f64 {
        let of_fleet = |fleet| {
            let name = |n| format!("fleet-{fleet}-{n}");
            let instances = (0..INSTANCES).map(|n| Instance::builder(name(n), "10.0.0.1:80"));
            let snapshot: Snapshot = instances.map(|it| it.build().unwrap()).collect();
            let config = RingConfig::default();
            let pool = Pool::select(&Arc::new(snapshot), &Selector::any());
            let ring = Ring::build(&pool, &config);
            let mut counts = HashMap::new();
            for key in 0..keys {
                let key = format!("user-{key}");
                let owner = ring.owner(config.hash_key(key.as_bytes())).unwrap();
                *counts.entry(owner).or_insert(0_u32) += 1;
            }
            f64::from(*counts.values().max().unwrap()) * f64::from(INSTANCES) / f64::from(keys)
        };
        (0..FLEETS).map(of_fleet).sum::<f64>() / f64::from(FLEETS)
    }

    #[test]
    fn shares_of_few_keys_are_as_uneven_as_the_table_says() {
        let guide = include_str!("choosing_a_key.md");
        for (keys, row) in [
            (20, "20"),
            (100, "100"),
            (1_000, "1,000"),
            (20_000, "20,000"),
        ] {
            let found = largest(keys);
            println!("{row} keys: {found:.2}");
            assert!(
                guide.contains(&format!("\n| {row} | {found:.1} |\n")),
                "{row} {found}"
            );
        }
    }
}

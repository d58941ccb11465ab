//! The balancer without tower: a cache of four shards, each a store in memory here, where the owner of a key keeps its value
//! and one more shard a copy. It shows which keys a new shard takes over, and that nothing else moves.
//!
//! Run it with `cargo run --example sharded_cache`. It exits with an error where a claim does not hold.
#![allow(clippy::print_stdout, reason = "examples talk to people")]

use std::{collections::HashMap, error::Error, time::Duration};

use ringfence::{Balancer, BalancerConfig, Instance, MemoryRegistry, PickRequest, ServiceKey};

const KEYS: usize = 10_000;

/// The stores behind the instances, by instance id; a real cache would dial the instance's address instead.
#[derive(Default)]
struct Shards(HashMap<String, HashMap<String, String>>);

struct Cache {
    balancer: Balancer,
    shards: Shards,
}

impl Cache {
    /// Writes to the owner of the key and to the next instance on the ring.
    fn put(&mut self, key: &str, value: &str) -> Result<(), Box<dyn Error>> {
        for owner in self.balancer.owners(&PickRequest::new().with_key(key), 2)? {
            // The guard counts the write as in flight; without a report it says nothing about the instance's health.
            let _running = owner.begin();
            let shard = self
                .shards
                .0
                .entry(owner.instance().id().to_string())
                .or_default();
            shard.insert(key.to_owned(), value.to_owned());
        }
        Ok(())
    }

    /// Reads from the owner only: whether it knows the key.
    fn hit(&self, key: &str) -> Result<bool, Box<dyn Error>> {
        let decision = self.balancer.pick(&PickRequest::new().with_key(key))?;
        let shard = self.shards.0.get(decision.instance().id().as_str());
        Ok(shard.is_some_and(|shard| shard.contains_key(key)))
    }

    fn hits(&self) -> Result<usize, Box<dyn Error>> {
        keys()
            .map(|key| self.hit(&key))
            .try_fold(0, |hits, hit| Ok(hits + usize::from(hit?)))
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let (registry, service) = (MemoryRegistry::new(), ServiceKey::new("cache"));
    for n in 1..=4 {
        registry.register(&service, shard(n)?);
    }
    // No waiting for further changes, so that the example is done at once.
    let config = BalancerConfig::default().with_update_merge_window(Duration::ZERO)?;
    let balancer = Balancer::builder(registry.clone(), service.clone())
        .with_config(config)
        .build()?;
    balancer.ready().await?;

    let mut cache = Cache {
        balancer: balancer.clone(),
        shards: Shards::default(),
    };
    for key in keys() {
        cache.put(&key, "value")?;
    }
    println!("4 shards: {} of {KEYS} reads hit", cache.hits()?);
    ensure(cache.hits()? == KEYS, "every key is found at its owner")?;

    registry.register(&service, shard(5)?);
    until(&balancer, 5).await?;
    let hits = cache.hits()?;
    println!(
        "a fifth shard joins: {hits} of {KEYS} reads hit at once, the rest is the new shard's fifth"
    );
    ensure(
        (KEYS * 70 / 100..KEYS * 90 / 100).contains(&hits),
        "about a fifth of the keys, and no more, moved to the new shard",
    )?;

    registry.deregister(&service, "shard-5");
    registry.deregister(&service, "shard-1");
    until(&balancer, 3).await?;
    println!(
        "it leaves again, and shard-1 with it: {} of {KEYS} reads hit, from the copies",
        cache.hits()?
    );
    ensure(
        cache.hits()? == KEYS,
        "the next instance on the ring has the copy of every lost key",
    )?;
    Ok(())
}

fn shard(n: u8) -> Result<Instance, ringfence::InstanceError> {
    Instance::builder(format!("shard-{n}"), format!("10.0.0.{n}:6379")).build()
}

fn keys() -> impl Iterator<Item = String> {
    (0..KEYS).map(|i| format!("session-{i}"))
}

/// Waits until the balancer knows of this many instances, for a second at most.
async fn until(balancer: &Balancer, instances: usize) -> Result<(), Box<dyn Error>> {
    let known = async {
        while balancer
            .view()
            .is_none_or(|view| view.snapshot().len() != instances)
        {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    Ok(tokio::time::timeout(Duration::from_secs(1), known).await?)
}

fn ensure(holds: bool, claim: &str) -> Result<(), Box<dyn Error>> {
    if holds {
        println!("  [ok] {claim}");
        return Ok(());
    }
    Err(format!("does not hold: {claim}").into())
}

//! The same instances and keys for all candidates.

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::Arc,
};

use fastrand::Rng;
use ringfence_core::{Instance, Pool, Selector, Snapshot};

pub(crate) const SIZES: [u32; 4] = [10, 100, 1_000, 10_000];

/// Keys are picked in the order of this array, which is larger than the caches that are ours alone.
pub(crate) const KEYS: usize = 1 << 20;

pub(crate) fn address(n: u32) -> SocketAddr {
    let [_, _, high, low] = n.to_be_bytes();
    SocketAddr::from((Ipv4Addr::new(10, 0, high, low), 8080))
}

pub(crate) fn instance(n: u32) -> Instance {
    let address = address(n).to_string();
    Instance::builder(format!("node-{n}"), address)
        .build()
        .expect("a legal instance")
}

/// The pool of the first `count` instances.
pub(crate) fn pool(count: u32) -> Pool {
    select((0..count).map(instance).collect())
}

/// The same with one more, as a registry's next list has it: the others are the same objects.
pub(crate) fn with_one_more(pool: &Pool) -> Pool {
    let others = pool.snapshot().instances().iter().cloned();
    let count = u32::try_from(pool.len()).expect("a few");
    select(Snapshot::from_shared(
        others.chain([Arc::new(instance(count))]),
    ))
}

fn select(snapshot: Snapshot) -> Pool {
    Pool::select(&Arc::new(snapshot), &Selector::any())
}

/// 16 random bytes each.
pub(crate) fn keys() -> Vec<[u8; 16]> {
    let mut rng = Rng::with_seed(7);
    (0..KEYS).map(|_| rng.u128(..).to_le_bytes()).collect()
}

/// One key after the other. In a dependent walk over them, where the next one is waits for the result before.
pub(crate) struct Keys<'a> {
    keys: &'a [[u8; 16]],
    place: usize,
}

impl<'a> Keys<'a> {
    pub(crate) fn new(keys: &'a [[u8; 16]]) -> Self {
        Self { keys, place: 0 }
    }

    #[inline]
    pub(crate) fn next(&mut self) -> &'a [u8; 16] {
        self.after(0)
    }

    /// `result` moves the place by 0 or 1.
    #[inline]
    pub(crate) fn after(&mut self, result: u32) -> &'a [u8; 16] {
        self.place = (self.place + 1 + (result & 1) as usize) & (KEYS - 1);
        &self.keys[self.place]
    }
}

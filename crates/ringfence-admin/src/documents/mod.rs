//! What is told of a balancer, as JSON.

mod calls;
mod changes;
mod condition;
mod explain;
mod health;
mod instance;
mod observe;
mod policy;
mod pools;
mod ring;
mod snapshot;
mod state;

use std::time::{Duration, SystemTime};

pub(crate) use self::{
    calls::{decisions, hot_keys},
    changes::changes,
    explain::{Explain, ExplainError},
    health::{healthz, services},
    observe::observe,
    pools::pools,
    ring::RingDocument,
    snapshot::snapshot,
    state::state,
};

/// Most instances that are told.
const MAX_INSTANCES: usize = 1_000;
/// Most pools that are told, and most routes.
const MAX_POOLS: usize = 256;

/// Milliseconds since 1970, which every language has a type for.
fn unix_ms(at: SystemTime) -> u64 {
    let since = at
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

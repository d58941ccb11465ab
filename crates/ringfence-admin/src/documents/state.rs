//! All that the page shows but the ring, which changes seldom.

use std::sync::Arc;

use serde::Serialize;

use super::{
    calls::{Decisions, HotKeysDocument, decisions, hot_keys},
    changes::{Changes, changes},
    health::{Health, Services, services},
    observe::{ObserveDocument, observe},
    pools::{Pools, pools},
    snapshot::{SnapshotDocument, snapshot},
};
use crate::mounted::Mounted;

#[derive(Debug, Serialize)]
pub(crate) struct StateDocument {
    #[serde(flatten)]
    services: Services,
    health: Health,
    /// `None` once the balancer was dropped.
    #[serde(flatten)]
    balancer: Option<OfBalancer>,
}

#[derive(Debug, Serialize)]
struct OfBalancer {
    snapshot: SnapshotDocument,
    /// `None` without a view.
    pools: Option<Pools>,
    #[serde(flatten)]
    changes: Changes,
    #[serde(flatten)]
    decisions: Decisions,
    hot_keys: HotKeysDocument,
    #[serde(flatten)]
    observe: ObserveDocument,
}

pub(crate) fn state(of: &Mounted, all: &[Arc<Mounted>], show_tags: bool) -> StateDocument {
    let balancer = of.balancer();
    StateDocument {
        services: services(all),
        health: Health::of(of),
        balancer: balancer.map(|balancer| OfBalancer {
            snapshot: snapshot(&balancer, show_tags),
            pools: pools(&balancer, show_tags),
            changes: changes(&balancer),
            decisions: decisions(&balancer),
            hot_keys: hot_keys(&balancer),
            observe: observe(&balancer),
        }),
    }
}

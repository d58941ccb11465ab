//! The immutable thing that requests read.

mod absence;
mod builder;
mod config;
mod judge;
mod judging;
mod loads;
mod pool_view;
mod route;
mod shares;
mod steps;
mod table;
#[cfg(test)]
mod tests;
mod twins;
mod usability;

use std::{collections::BTreeMap, fmt, sync::Arc};

pub use self::{
    absence::Absence,
    config::ViewConfig,
    pool_view::PoolView,
    route::{Chosen, Route, StageOutcome},
    steps::{StepVerdict, WalkStep},
};
use self::{builder::Builder, table::RouteTable, twins::Twins};
use crate::{
    instance::Instance,
    pool::{PoolSpec, TagIndex},
    ring::{Ring, RingConfig},
    routing::{PlanId, RouteKey, RoutePlan, RoutePlans, TagValues},
    snapshot::Snapshot,
};

/// A snapshot with its pools, rings and routes: immutable, so that a request sees one consistent state from one pointer.
///
/// # Examples
/// ```
/// use std::sync::Arc;
/// use ringfence_core::{Instance, RequestTags, RoutePlans, Snapshot, View, ViewConfig};
///
/// let snapshot = Arc::new(Snapshot::new([
///     Instance::builder("stable-1", "10.0.0.1:80").build()?,
///     Instance::builder("gray-1", "10.0.0.2:80").version("gray").build()?,
/// ]));
/// let view = View::first(ViewConfig::default(), RoutePlans::default(), snapshot, |_| None);
/// let key = view.config().ring().hash_key(b"user-1");
///
/// let owner = |tags: &RequestTags| {
///     let route = view.resolve(&tags.clone().into());
///     let (_, pool) = route.chosen()?;
///     let member = pool.walk(key).next()?;
///     Some(pool.pool().instance(member)?.id().to_string())
/// };
/// assert_eq!(owner(&RequestTags::new()).as_deref(), Some("stable-1"));
/// assert_eq!(owner(&RequestTags::new().with_version("gray")).as_deref(), Some("gray-1"));
/// # Ok::<(), ringfence_core::InstanceError>(())
/// ```
pub struct View {
    epoch: u64,
    config: Arc<ViewConfig>,
    /// That of [`PlanId::ROUTING`].
    routing: Arc<RoutePlan>,
    plans: RoutePlans,
    snapshot: Arc<Snapshot>,
    /// By place in the snapshot: why the instance there gets no requests.
    out: Arc<[Option<Absence>]>,
    index: Arc<TagIndex>,
    /// The ring of all instances.
    whole: Arc<Ring>,
    /// Pools that serve some route.
    pools: BTreeMap<PoolSpec, Twins>,
    /// By number of the plan: the route of requests that ask for nothing which matters to it.
    bases: Box<[Arc<Route>]>,
    routes: RouteTable,
}

impl View {
    /// The view of a first snapshot: epoch 1, with the routes of untagged requests. `absence` says of a place in
    /// [`Snapshot::instances`] why the instance there gets no requests, if it is to get none.
    pub fn first(
        config: ViewConfig,
        plans: RoutePlans,
        snapshot: Arc<Snapshot>,
        absence: impl Fn(usize) -> Option<Absence>,
    ) -> Self {
        Builder::new(Arc::new(config), plans, snapshot, None, &absence).build(1, [])
    }

    /// The view that follows this one: its epoch is one higher. Rings whose members and weights did not change are kept,
    /// others are updated. It has the routes of untagged requests, and those asked for, where there is such a plan.
    #[must_use]
    pub fn next(
        &self,
        plans: RoutePlans,
        snapshot: Arc<Snapshot>,
        routes: impl IntoIterator<Item = RouteKey>,
        absence: impl Fn(usize) -> Option<Absence>,
    ) -> Self {
        self.next_with_ring(self.config.ring(), plans, snapshot, routes, absence)
    }

    /// The same with other settings of rings, which are all made anew where these differ: keys move.
    #[must_use]
    pub fn next_with_ring(
        &self,
        ring: &RingConfig,
        plans: RoutePlans,
        snapshot: Arc<Snapshot>,
        routes: impl IntoIterator<Item = RouteKey>,
        absence: impl Fn(usize) -> Option<Absence>,
    ) -> Self {
        let config = if ring == self.config.ring() {
            Arc::clone(&self.config)
        } else {
            Arc::new((*self.config).clone().with_ring(ring.clone()))
        };
        Builder::new(config, plans, snapshot, Some(self), &absence)
            .build(self.epoch.saturating_add(1), routes)
    }

    /// Number of the view; rises with each one of a service.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// All instances.
    #[must_use]
    pub fn snapshot(&self) -> &Arc<Snapshot> {
        &self.snapshot
    }

    /// The settings.
    #[must_use]
    pub fn config(&self) -> &ViewConfig {
        &self.config
    }

    /// The ring of all instances; its fingerprint stands for the whole view.
    #[must_use]
    pub fn whole_ring(&self) -> &Arc<Ring> {
        &self.whole
    }

    /// The plans besides [`PlanId::ROUTING`], which is that of the [settings](ViewConfig::routing).
    #[must_use]
    pub fn plans(&self) -> &RoutePlans {
        &self.plans
    }

    /// A plan; `None` where there is none.
    #[must_use]
    pub fn plan(&self, plan: PlanId) -> Option<&RoutePlan> {
        if plan == PlanId::ROUTING {
            return Some(&self.routing);
        }
        self.plans.get(plan)
    }

    /// The prepared route of requests that take this plan and have no tags; `None` where the view was made without the plan.
    #[inline]
    #[must_use]
    pub fn base(&self, plan: PlanId) -> Option<&Arc<Route>> {
        self.bases.get(plan.index())
    }

    /// The prepared route of a request that takes this plan; `None` where the view was made without it. Whatever of its tags
    /// does not matter to the plan makes no difference.
    #[inline]
    #[must_use]
    pub fn route<T: TagValues + ?Sized>(&self, plan: PlanId, tags: &T) -> Option<&Arc<Route>> {
        let base = self.base(plan)?;
        if tags.is_untagged() {
            return Some(base);
        }
        let asks = match plan {
            PlanId::ROUTING => None,
            _ => self.plans.get(plan)?.asks(),
        };
        if asks.is_some_and(|asks| asks.iter().all(|asked| tags.value(asked).is_none())) {
            return Some(base);
        }
        self.routes.get(plan, asks, tags)
    }

    /// What tells the route of a request from others: the key to have it prepared by.
    pub fn key<T: TagValues + ?Sized>(&self, plan: PlanId, tags: &T) -> RouteKey {
        let relevant = self.plan(plan).map(|plan| plan.relevant(tags));
        RouteKey::new(plan, relevant.unwrap_or_default())
    }

    /// A route, worked out now: it gives every key the same members as a prepared one; it looks only at instances that have a value
    /// asked for. Where there is no such plan, it has no stages and no pool.
    ///
    /// It makes no ring with the own ring, nginx's and rendezvous. With the [algorithms](crate::HashAlgorithm) whose mapping of some instances
    /// is not told by that of all (Envoy's ring and Maglev, ketama, jump and slots) it makes those of its pools, each time: a Maglev table
    /// takes milliseconds.
    #[must_use]
    pub fn resolve(&self, key: &RouteKey) -> Route {
        Builder::of_view(self).resolve(key)
    }

    /// The owner of a key in the pool that a request gets, whatever its health.
    pub(crate) fn ring_owner<T: TagValues + ?Sized>(
        &self,
        plan: PlanId,
        tags: &T,
        key: &[u8],
        salt: u64,
    ) -> Option<Arc<Instance>> {
        let now;
        let route = match self.route(plan, tags) {
            Some(route) => route.as_ref(),
            None => {
                now = self.resolve(&self.key(plan, tags));
                &now
            }
        };
        let pool = route.choose(Some(key), || 0)?.pool;
        let member = pool.ring_owner(pool.hash_key(key, salt))?;
        pool.pool().instance(member).cloned()
    }

    /// The prepared routes of tagged requests.
    #[must_use]
    pub fn routes(&self) -> impl ExactSizeIterator<Item = (&RouteKey, &Arc<Route>)> {
        self.routes.iter()
    }

    /// The pools that serve some route.
    #[must_use]
    pub fn pools(&self) -> impl ExactSizeIterator<Item = &Arc<PoolView>> {
        self.pools.values().map(Twins::shown)
    }
}

impl fmt::Debug for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("View")
            .field("epoch", &self.epoch)
            .field("instances", &self.snapshot.len())
            .field("ring", &self.whole)
            .field("plans", &self.plans.len())
            .field("pools", &self.pools.len())
            .field("routes", &self.routes.len())
            .finish_non_exhaustive()
    }
}

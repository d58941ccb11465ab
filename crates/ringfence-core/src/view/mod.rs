//! The immutable thing that requests read.

mod builder;
mod config;
mod pool_view;
mod route;
#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    sync::Arc,
};

use self::builder::Builder;
pub use self::{
    config::ViewConfig,
    pool_view::PoolView,
    route::{Route, StageOutcome},
};
use crate::{
    pool::{Selector, TagIndex},
    ring::Ring,
    routing::RequestTags,
    snapshot::Snapshot,
};

/// A snapshot with its pools, rings and routes: immutable, so that a request sees one consistent state from one pointer.
///
/// # Examples
/// ```
/// use std::sync::Arc;
/// use ringfence_core::{Instance, RequestTags, Snapshot, View, ViewConfig};
///
/// let snapshot = Arc::new(Snapshot::new([
///     Instance::builder("stable-1", "10.0.0.1:80").build()?,
///     Instance::builder("gray-1", "10.0.0.2:80").version("gray").build()?,
/// ]));
/// let view = View::first(ViewConfig::default(), snapshot, |_| false);
/// let key = view.config().ring().hash_key(b"user-1");
///
/// let owner = |tags: &RequestTags| {
///     let route = view.resolve(tags);
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
    snapshot: Arc<Snapshot>,
    /// By place in the snapshot: whether the instance there is ejected.
    out: Arc<[bool]>,
    index: Arc<TagIndex>,
    /// The ring of all instances.
    whole: Arc<Ring>,
    /// Pools that serve some route.
    pools: BTreeMap<Selector, Arc<PoolView>>,
    untagged: Arc<Route>,
    routes: HashMap<RequestTags, Arc<Route>>,
}

impl View {
    /// The view of a first snapshot: epoch 1, with the route of untagged requests. `is_out` says of a place in
    /// [`Snapshot::instances`] whether the instance there is ejected.
    pub fn first(
        config: ViewConfig,
        snapshot: Arc<Snapshot>,
        is_out: impl Fn(usize) -> bool,
    ) -> Self {
        Builder::new(Arc::new(config), snapshot, None, &is_out).build(1, [])
    }

    /// The view that follows this one: its epoch is one higher. Rings whose members and weights did not change are kept,
    /// others are updated. It has the routes of `tags` and that of untagged requests.
    #[must_use]
    pub fn next(
        &self,
        snapshot: Arc<Snapshot>,
        tags: impl IntoIterator<Item = RequestTags>,
        is_out: impl Fn(usize) -> bool,
    ) -> Self {
        Builder::new(Arc::clone(&self.config), snapshot, Some(self), &is_out)
            .build(self.epoch.saturating_add(1), tags)
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

    /// The prepared route of a request's tags; `None` where the view was made without it.
    #[must_use]
    pub fn route(&self, tags: &RequestTags) -> Option<&Arc<Route>> {
        if tags.is_empty() {
            Some(&self.untagged)
        } else {
            self.routes.get(tags)
        }
    }

    /// The route of a request's tags, worked out now: it gives every key the same members as a prepared one, without making
    /// a ring; it looks only at instances that have a value asked for.
    #[must_use]
    pub fn resolve(&self, tags: &RequestTags) -> Route {
        Builder::of_view(self).resolve(tags)
    }

    /// The prepared routes of tagged requests.
    #[must_use]
    pub fn routes(&self) -> impl ExactSizeIterator<Item = (&RequestTags, &Arc<Route>)> {
        self.routes.iter()
    }

    /// The pools that serve some route.
    #[must_use]
    pub fn pools(&self) -> impl ExactSizeIterator<Item = &Arc<PoolView>> {
        self.pools.values()
    }
}

impl fmt::Debug for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("View")
            .field("epoch", &self.epoch)
            .field("instances", &self.snapshot.len())
            .field("ring", &self.whole)
            .field("pools", &self.pools.len())
            .field("routes", &self.routes.len())
            .finish_non_exhaustive()
    }
}

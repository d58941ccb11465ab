use std::{
    collections::BTreeMap,
    sync::{Arc, atomic::AtomicBool},
};

use super::{
    Absence, PoolView, Route, View, ViewConfig, judge::Standing, table::RouteTable, twins::Twins,
    usability::Usability,
};
use crate::{
    pool::{Pool, PoolSpec, Selector, TagIndex},
    ring::Ring,
    routing::{PlanId, RequestTags, RouteKey, RoutePlan, RoutePlans},
    snapshot::Snapshot,
};

/// The seed of a ring, where it is not the configured one, and its members.
type RingKey = (Option<u64>, Box<[u32]>);

/// Makes views and routes. Selections, rings and pools that several routes need are made once.
pub(super) struct Builder<'a> {
    config: Arc<ViewConfig>,
    routing: Arc<RoutePlan>,
    plans: RoutePlans,
    snapshot: Arc<Snapshot>,
    /// By place in the snapshot: why the instance there gets no requests.
    out: Arc<[Option<Absence>]>,
    index: Arc<TagIndex>,
    previous: Option<&'a View>,
    /// Whether a number stands for the same plan in the previous view.
    is_same_plans: bool,
    /// Whether instances and their state are those of the previous view.
    is_previous: bool,
    /// Whether rings are made as in the previous view.
    is_same_ring: bool,
    whole: Arc<Ring>,
    selections: BTreeMap<PoolSpec, Arc<Pool>>,
    rings: BTreeMap<RingKey, Arc<Ring>>,
    pools: BTreeMap<PoolSpec, Twins>,
}

impl<'a> Builder<'a> {
    pub(super) fn new(
        config: Arc<ViewConfig>,
        plans: RoutePlans,
        snapshot: Arc<Snapshot>,
        previous: Option<&'a View>,
        absence: &dyn Fn(usize) -> Option<Absence>,
    ) -> Self {
        let everything = Pool::select(&snapshot, &Selector::any());
        let is_same_ring = previous.is_some_and(|view| view.config.ring() == config.ring());
        let whole = match previous {
            Some(previous) if is_same_ring => previous.whole.update(&everything),
            _ => Arc::new(Ring::build(&everything, config.ring())),
        };
        let index = match previous {
            Some(previous) if Arc::ptr_eq(&previous.snapshot, &snapshot) => {
                Arc::clone(&previous.index)
            }
            _ => Arc::new(TagIndex::new(&snapshot)),
        };
        Self {
            index,
            out: (0..snapshot.len()).map(absence).collect(),
            routing: match previous {
                Some(previous) => Arc::clone(&previous.routing),
                None => Arc::new(config.routing().clone().into()),
            },
            is_same_plans: previous.is_some_and(|previous| previous.plans.same(&plans)),
            plans,
            config,
            snapshot,
            previous,
            is_previous: false,
            is_same_ring,
            whole,
            selections: BTreeMap::from([(PoolSpec::default(), Arc::new(everything))]),
            rings: BTreeMap::new(),
            pools: BTreeMap::new(),
        }
    }

    /// For routes of an existing view.
    pub(super) fn of_view(view: &'a View) -> Self {
        Self {
            config: Arc::clone(&view.config),
            routing: Arc::clone(&view.routing),
            plans: view.plans.clone(),
            snapshot: Arc::clone(&view.snapshot),
            out: Arc::clone(&view.out),
            index: Arc::clone(&view.index),
            previous: Some(view),
            is_same_plans: true,
            is_previous: true,
            is_same_ring: true,
            whole: Arc::clone(&view.whole),
            selections: BTreeMap::new(),
            rings: BTreeMap::new(),
            pools: BTreeMap::new(),
        }
    }

    pub(super) fn build(mut self, epoch: u64, routes: impl IntoIterator<Item = RouteKey>) -> View {
        let (routing, plans) = (Arc::clone(&self.routing), self.plans.clone());
        let untagged = RequestTags::new();
        let mut bases = vec![self.prepare(PlanId::ROUTING, &routing, &untagged)];
        for (id, plan) in plans.iter() {
            bases.push(self.prepare(id, plan, &untagged));
        }
        let wanted: Vec<RouteKey> = routes.into_iter().collect();
        let mut routes = RouteTable::with_capacity(wanted.len());
        for key in wanted {
            let plan = match key.plan() {
                PlanId::ROUTING => Some(&*routing),
                other => plans.get(other),
            };
            let Some(plan) = plan else {
                continue;
            };
            let key = RouteKey::new(key.plan(), plan.relevant(key.tags()));
            if !key.tags().is_empty() {
                routes.insert(key, plan.asks(), |key| {
                    self.prepare(key.plan(), plan, key.tags())
                });
            }
        }
        View {
            epoch,
            config: self.config,
            routing: self.routing,
            plans: self.plans,
            snapshot: self.snapshot,
            out: self.out,
            index: self.index,
            whole: self.whole,
            pools: self.pools,
            bases: bases.into(),
            routes,
        }
    }

    /// A route whose pools have rings of their own.
    fn prepare(&mut self, id: PlanId, plan: &RoutePlan, tags: &RequestTags) -> Arc<Route> {
        let previous = self
            .previous
            .filter(|_| id == PlanId::ROUTING || self.is_same_plans);
        let used = match previous.and_then(|view| view.route(id, tags)) {
            Some(route) => Arc::clone(route.used()),
            None => Arc::new(AtomicBool::new(false)),
        };
        let judgement = self.judge(plan, tags);
        let judgement = judgement.map(|pool, is_calm| self.pool_view(pool, is_calm));
        Arc::new(Route::new(judgement, used))
    }

    /// A route on the rings that exist, where the mapping of all instances tells that of some.
    pub(super) fn resolve(mut self, key: &RouteKey) -> Route {
        let (routing, plans) = (Arc::clone(&self.routing), self.plans.clone());
        let plan = match key.plan() {
            PlanId::ROUTING => &*routing,
            other => match plans.get(other) {
                Some(plan) => plan,
                None => return Route::none(),
            },
        };
        let judgement = self.judge(plan, key.tags());
        let judgement = judgement.map(|pool, is_calm| self.unprepared(pool, is_calm));
        Route::new(judgement, Arc::default())
    }

    /// A pool without a ring of its own, unless it has one already or the algorithm maps its keys otherwise than those of all.
    fn unprepared(&mut self, pool: Arc<Pool>, is_calm: bool) -> Arc<PoolView> {
        let twins = self.previous.and_then(|view| view.pools.get(pool.spec()));
        if let Some(prepared) = twins.and_then(|twins| twins.get(is_calm)) {
            return Arc::clone(prepared);
        }
        if !self.config.ring().algorithm().is_filterable() || pool.spec().ring_seed().is_some() {
            // No plan lets a seed come to this, see `RoutePlan::of_stages`; but if one did, keys would stay where they belong.
            return self.pool_view(pool, is_calm);
        }
        let usability = self.usability(&pool);
        let whole = Arc::clone(&self.whole);
        Arc::new(PoolView::on_whole_ring(pool, whole, usability, !is_calm))
    }

    pub(super) fn panic_threshold(&self) -> u8 {
        self.config.panic_threshold()
    }

    pub(super) fn standing(&self, pool: &Pool) -> Standing {
        let known = self.previous.filter(|_| self.is_previous);
        match known.and_then(|view| view.pools.get(pool.spec())) {
            Some(twins) => twins.shown().standing(),
            None => self.usability(pool).standing(),
        }
    }

    pub(super) fn select(&mut self, spec: &PoolSpec) -> Arc<Pool> {
        if let Some(pool) = self.selections.get(spec) {
            return Arc::clone(pool);
        }
        let prepared = self
            .previous
            .filter(|view| Arc::ptr_eq(&view.snapshot, &self.snapshot))
            .and_then(|view| view.pools.get(spec))
            .map(Twins::shown);
        let pool = match prepared {
            Some(view) => Arc::clone(view.shared_pool()),
            // Shards and rings of the same instances differ in these alone.
            None if spec.shard().is_some() || spec.ring_seed().is_some() => {
                let all = self.select(&spec.selector().clone().into());
                Arc::new(all.narrowed(spec))
            }
            None => Arc::new(Pool::select_by(
                &self.index,
                &self.snapshot,
                spec.selector(),
            )),
        };
        self.selections.insert(spec.clone(), Arc::clone(&pool));
        pool
    }

    fn pool_view(&mut self, pool: Arc<Pool>, is_calm: bool) -> Arc<PoolView> {
        let made = self.pools.get(pool.spec());
        if let Some(view) = made.and_then(|twins| twins.get(is_calm)) {
            return Arc::clone(view);
        }
        let ring = self.ring(&pool);
        let usability = self.usability(&pool);
        let spec = pool.spec().clone();
        let before = self.previous.and_then(|view| view.pools.get(&spec));
        let before = before.map(|twins| &**twins.shown());
        let view = Arc::new(PoolView::new(pool, ring, usability, !is_calm, before));
        match self.pools.get_mut(&spec) {
            Some(twins) => twins.add(Arc::clone(&view)),
            None => {
                self.pools.insert(spec, Twins::of(Arc::clone(&view)));
            }
        }
        view
    }

    /// Pools of the same members and seed share one ring.
    fn ring(&mut self, pool: &Pool) -> Arc<Ring> {
        let configured = self.config.ring();
        let seed = pool.spec().ring_seed();
        let seed = seed.filter(|seed| *seed != configured.seed());
        if seed.is_none() && pool.len() == self.snapshot.len() {
            return Arc::clone(&self.whole);
        }
        let key = (seed, pool.members().into());
        if let Some(ring) = self.rings.get(&key) {
            return Arc::clone(ring);
        }
        let before = self
            .previous
            .filter(|_| self.is_same_ring)
            .and_then(|view| view.pools.get(pool.spec()))
            .and_then(|twins| twins.shown().ring());
        let ring = match before {
            Some(before) => before.update(pool),
            None => {
                let seed = seed.unwrap_or(configured.seed());
                Arc::new(Ring::build(pool, &configured.clone().with_seed(seed)))
            }
        };
        self.rings.insert(key, Arc::clone(&ring));
        ring
    }

    fn usability(&self, pool: &Pool) -> Usability {
        Usability::of(pool, &|index| self.out.get(index).copied().flatten())
    }
}

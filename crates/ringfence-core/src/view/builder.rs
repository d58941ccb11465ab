use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, atomic::AtomicBool},
};

use super::{PoolView, Route, StageOutcome, View, ViewConfig, pool_view::Usability};
use crate::{
    pool::{Pool, Selector, TagIndex},
    ring::Ring,
    routing::{RequestTags, Stage},
    snapshot::Snapshot,
};

/// Makes views and routes. Selections, rings and pools that several routes need are made once.
pub(super) struct Builder<'a> {
    config: Arc<ViewConfig>,
    snapshot: Arc<Snapshot>,
    /// By place in the snapshot: whether the instance there is ejected.
    out: Arc<[bool]>,
    index: Arc<TagIndex>,
    previous: Option<&'a View>,
    /// Whether instances and their state are those of the previous view.
    is_previous: bool,
    whole: Arc<Ring>,
    selections: BTreeMap<Selector, Arc<Pool>>,
    rings: BTreeMap<Box<[u32]>, Arc<Ring>>,
    pools: BTreeMap<Selector, Arc<PoolView>>,
}

impl<'a> Builder<'a> {
    pub(super) fn new(
        config: Arc<ViewConfig>,
        snapshot: Arc<Snapshot>,
        previous: Option<&'a View>,
        is_out: &dyn Fn(usize) -> bool,
    ) -> Self {
        let everything = Pool::select(&snapshot, &Selector::any());
        let whole = match previous {
            Some(previous) => previous.whole.update(&everything),
            None => Arc::new(Ring::build(&everything, config.ring())),
        };
        let index = match previous {
            Some(previous) if Arc::ptr_eq(&previous.snapshot, &snapshot) => {
                Arc::clone(&previous.index)
            }
            _ => Arc::new(TagIndex::new(&snapshot)),
        };
        Self {
            index,
            out: (0..snapshot.len()).map(is_out).collect(),
            config,
            snapshot,
            previous,
            is_previous: false,
            whole,
            selections: BTreeMap::from([(Selector::any(), Arc::new(everything))]),
            rings: BTreeMap::new(),
            pools: BTreeMap::new(),
        }
    }

    /// For routes of an existing view.
    pub(super) fn of_view(view: &'a View) -> Self {
        Self {
            config: Arc::clone(&view.config),
            snapshot: Arc::clone(&view.snapshot),
            out: Arc::clone(&view.out),
            index: Arc::clone(&view.index),
            previous: Some(view),
            is_previous: true,
            whole: Arc::clone(&view.whole),
            selections: BTreeMap::new(),
            rings: BTreeMap::new(),
            pools: BTreeMap::new(),
        }
    }

    pub(super) fn build(mut self, epoch: u64, tags: impl IntoIterator<Item = RequestTags>) -> View {
        let untagged = self.prepare(&RequestTags::new());
        let routes: HashMap<_, _> = tags
            .into_iter()
            .filter(|tags| !tags.is_empty())
            .map(|tags| {
                let route = self.prepare(&tags);
                (tags, route)
            })
            .collect();
        View {
            epoch,
            config: self.config,
            snapshot: self.snapshot,
            out: self.out,
            index: self.index,
            whole: self.whole,
            pools: self.pools,
            untagged,
            routes,
        }
    }

    /// A route whose pool has a ring of its own.
    fn prepare(&mut self, tags: &RequestTags) -> Arc<Route> {
        let used = match self.previous.and_then(|view| view.route(tags)) {
            Some(route) => Arc::clone(route.used()),
            None => Arc::new(AtomicBool::new(false)),
        };
        let (stages, chosen) = self.judge(tags);
        let chosen = chosen.map(|(stage, pool)| (stage, self.pool_view(pool)));
        Arc::new(Route::new(stages, chosen, used))
    }

    /// A route on the rings that exist.
    pub(super) fn resolve(mut self, tags: &RequestTags) -> Route {
        let (stages, chosen) = self.judge(tags);
        let chosen = chosen.map(|(stage, pool)| {
            let prepared = self
                .previous
                .and_then(|view| view.pools.get(pool.selector()));
            let view = prepared.map_or_else(
                || {
                    let usability = self.usability(&pool);
                    let whole = Arc::clone(&self.whole);
                    Arc::new(PoolView::on_whole_ring(
                        Arc::clone(&pool),
                        whole,
                        usability,
                        self.config.panic_threshold(),
                    ))
                },
                Arc::clone,
            );
            (stage, view)
        });
        Route::new(stages, chosen, Arc::default())
    }

    /// Goes through the stages up to the one that serves.
    fn judge(&mut self, tags: &RequestTags) -> (Vec<StageOutcome>, Option<(usize, Arc<Pool>)>) {
        let mut outcomes = Vec::new();
        let mut in_panic = None;
        for (place, stage) in self.config.routing().stages(tags).into_iter().enumerate() {
            let pool = self.select(stage.selector());
            let (usable, may_panic) = self.standing(&pool);
            let outcome = StageOutcome {
                members: pool.len(),
                usable,
                stage,
            };
            let stop = match outcome.stage {
                Stage::StopIfRegistered(_) => outcome.members > 0,
                Stage::Try(_) if outcome.usable >= self.config.routing().min_usable() => {
                    outcomes.push(outcome);
                    return (outcomes, Some((place, pool)));
                }
                Stage::Try(_) => {
                    if in_panic.is_none() && may_panic && self.config.panic_threshold() > 0 {
                        in_panic = Some((place, pool));
                    }
                    false
                }
            };
            outcomes.push(outcome);
            if stop {
                break;
            }
        }
        (outcomes, in_panic)
    }

    /// Usable members, and whether any takes traffic at all.
    fn standing(&self, pool: &Pool) -> (usize, bool) {
        let known = self.previous.filter(|_| self.is_previous);
        match known.and_then(|view| view.pools.get(pool.selector())) {
            Some(view) => (view.usable_count(), view.may_panic()),
            None => {
                let usability = self.usability(pool);
                (usability.usable_count(), usability.may_panic())
            }
        }
    }

    fn select(&mut self, selector: &Selector) -> Arc<Pool> {
        if let Some(pool) = self.selections.get(selector) {
            return Arc::clone(pool);
        }
        let prepared = self
            .previous
            .filter(|view| Arc::ptr_eq(&view.snapshot, &self.snapshot))
            .and_then(|view| view.pools.get(selector));
        let pool = prepared.map_or_else(
            || Arc::new(Pool::select_by(&self.index, &self.snapshot, selector)),
            |view| Arc::clone(view.shared_pool()),
        );
        self.selections.insert(selector.clone(), Arc::clone(&pool));
        pool
    }

    fn pool_view(&mut self, pool: Arc<Pool>) -> Arc<PoolView> {
        if let Some(view) = self.pools.get(pool.selector()) {
            return Arc::clone(view);
        }
        let ring = self.ring(&pool);
        let usability = self.usability(&pool);
        let selector = pool.selector().clone();
        let before = self.previous.and_then(|view| view.pools.get(&selector));
        let view = Arc::new(PoolView::new(
            pool,
            ring,
            usability,
            self.config.panic_threshold(),
            before.map(|view| &**view),
        ));
        self.pools.insert(selector, Arc::clone(&view));
        view
    }

    /// Pools of the same members share one ring.
    fn ring(&mut self, pool: &Pool) -> Arc<Ring> {
        if pool.len() == self.snapshot.len() {
            return Arc::clone(&self.whole);
        }
        if let Some(ring) = self.rings.get(pool.members()) {
            return Arc::clone(ring);
        }
        let before = self
            .previous
            .and_then(|view| view.pools.get(pool.selector()))
            .and_then(|view| view.ring());
        let ring = match before {
            Some(before) => before.update(pool),
            None => Arc::new(Ring::build(pool, self.config.ring())),
        };
        self.rings.insert(pool.members().into(), Arc::clone(&ring));
        ring
    }

    fn usability(&self, pool: &Pool) -> Usability {
        Usability::of(pool, &|index| self.out.get(index).copied().unwrap_or(false))
    }
}

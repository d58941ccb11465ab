//! Which routes that depend on the tags of requests are prepared.

use std::{
    collections::{HashMap, HashSet},
    sync::{Mutex, PoisonError, TryLockError},
};

use ringfence_core::{PlanId, RouteKey, View};
use tokio::sync::Notify;

/// Tags with more text are served but not kept, so that the limit on their number bounds memory.
const MAX_TEXT: usize = 4_096;

/// Wishes of requests to have the pools of their routes prepared.
#[derive(Debug)]
pub(crate) struct RouteWishes {
    open: Mutex<HashSet<RouteKey>>,
    max: usize,
    arrived: Notify,
}

impl RouteWishes {
    pub(crate) fn new(max: usize) -> Self {
        Self {
            open: Mutex::default(),
            max,
            arrived: Notify::new(),
        }
    }

    /// Never waits: a wish that finds the lock taken or the list full is made again by the
    /// next request with this route.
    pub(crate) fn wish(&self, key: RouteKey) {
        if key.tags().text_len() > MAX_TEXT {
            return;
        }
        let mut open = match self.open.try_lock() {
            Ok(open) => open,
            Err(TryLockError::Poisoned(open)) => open.into_inner(),
            Err(TryLockError::WouldBlock) => return,
        };
        if open.len() < self.max && !open.contains(&key) {
            open.insert(key);
            drop(open);
            self.arrived.notify_one();
        }
    }

    /// Completes when there are wishes. Cancel safe.
    pub(crate) async fn arrived(&self) {
        self.arrived.notified().await;
    }

    pub(crate) fn take(&self) -> HashSet<RouteKey> {
        std::mem::take(&mut *self.open.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The routes whose pools are prepared; beyond the limit the least recently used go.
#[derive(Debug)]
pub(crate) struct RouteCache {
    max: usize,
    used_at: HashMap<RouteKey, u64>,
    tick: u64,
    prepared: u64,
    evicted: u64,
}

impl RouteCache {
    pub(crate) fn new(max: usize) -> Self {
        Self {
            max,
            used_at: HashMap::new(),
            tick: 0,
            prepared: 0,
            evicted: 0,
        }
    }

    /// Notes which routes of the view were taken since the last call.
    pub(crate) fn note_used(&mut self, view: &View) {
        self.tick += 1;
        for (key, route) in view.routes() {
            if route.take_used()
                && let Some(used_at) = self.used_at.get_mut(key)
            {
                *used_at = self.tick;
            }
        }
    }

    /// Adds routes; returns whether that changed anything.
    pub(crate) fn prepare(&mut self, wishes: impl IntoIterator<Item = RouteKey>) -> bool {
        let mut changed = false;
        for key in wishes {
            if key.tags().is_empty() || self.used_at.contains_key(&key) {
                continue;
            }
            self.tick += 1;
            self.used_at.insert(key, self.tick);
            self.prepared += 1;
            changed = true;
        }
        self.evict_surplus();
        changed
    }

    /// All at once, so that a flood of new tags costs one pass and not one for each.
    fn evict_surplus(&mut self) {
        let surplus = self.used_at.len().saturating_sub(self.max);
        if surplus == 0 {
            return;
        }
        let mut ticks: Vec<u64> = self.used_at.values().copied().collect();
        let (_, &mut last_to_go, _) = ticks.select_nth_unstable(surplus - 1);
        let mut left = surplus;
        self.used_at.retain(|_, used_at| {
            let goes = *used_at <= last_to_go && left > 0;
            left -= usize::from(goes);
            !goes
        });
        self.evicted += surplus as u64;
    }

    /// Gives up the routes of other plans than [`PlanId::ROUTING`], whose numbers mean other plans from now on.
    pub(crate) fn plans_changed(&mut self) -> HashMap<RouteKey, u64> {
        let of_plans = |key: &RouteKey, _: &mut u64| key.plan() != PlanId::ROUTING;
        self.used_at.extract_if(of_plans).collect()
    }

    /// Takes back what [`plans_changed`](Self::plans_changed) gave up.
    pub(crate) fn restore(&mut self, routes: HashMap<RouteKey, u64>) {
        self.used_at.extend(routes);
    }

    pub(crate) fn keys(&self) -> Vec<RouteKey> {
        self.used_at.keys().cloned().collect()
    }

    pub(crate) fn prepared(&self) -> u64 {
        self.prepared
    }

    pub(crate) fn evicted(&self) -> u64 {
        self.evicted
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ringfence_core::{RequestTags, RoutePlans, Snapshot, ViewConfig};

    use super::*;

    fn tags(name: &str) -> RouteKey {
        RequestTags::new().with_version(name).into()
    }

    #[test]
    fn the_least_recently_used_goes() {
        let mut cache = RouteCache::new(2);
        assert!(cache.prepare([tags("a"), tags("b")]));
        assert!(!cache.prepare([tags("a")]));
        let (plans, snapshot) = (RoutePlans::default(), Arc::new(Snapshot::empty()));
        let view = View::first(ViewConfig::default(), plans.clone(), snapshot, |_| None);
        let view = view.next(plans, Arc::clone(view.snapshot()), cache.keys(), |_| None);
        let a = view.route(PlanId::ROUTING, tags("a").tags());
        a.expect("prepared").mark_used();
        cache.note_used(&view);
        cache.prepare([tags("c")]);
        let mut left = cache.keys();
        left.sort();
        assert_eq!(left, [tags("a"), tags("c")]);
        assert_eq!((cache.prepared(), cache.evicted()), (3, 1));
    }

    #[test]
    fn wishes_are_made_once_bounded_and_short() {
        let wishes = RouteWishes::new(2);
        for name in ["a", "a", "b", "c"] {
            wishes.wish(tags(name));
        }
        wishes.wish(tags(&"x".repeat(MAX_TEXT + 1)));
        assert_eq!(wishes.take().len(), 2);
        assert!(wishes.take().is_empty());
    }

    #[test]
    fn routes_of_other_plans_are_forgotten_with_their_policy() {
        let mut cache = RouteCache::new(9);
        let of_policy = RouteKey::new(PlanId::nth(0), tags("a").tags().clone());
        cache.prepare([tags("a"), of_policy]);
        let given_up = cache.plans_changed();
        assert_eq!(cache.keys(), [tags("a")]);
        assert_eq!(cache.evicted(), 0, "nothing was pushed out");
        cache.restore(given_up);
        assert_eq!(cache.keys().len(), 2);
    }
}

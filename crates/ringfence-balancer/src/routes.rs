//! Which request tags have their pools prepared.

use std::{
    collections::{HashMap, HashSet},
    sync::{Mutex, PoisonError, TryLockError},
};

use ringfence_core::{RequestTags, View};
use tokio::sync::Notify;

/// Tags with more text are served but not kept, so that the limit on their number bounds memory.
const MAX_TEXT: usize = 4_096;

/// Wishes of requests to have the pools of their tags prepared.
#[derive(Debug)]
pub(crate) struct RouteWishes {
    open: Mutex<HashSet<RequestTags>>,
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
    /// next request with these tags.
    pub(crate) fn wish(&self, tags: &RequestTags) {
        if tags.text_len() > MAX_TEXT {
            return;
        }
        let mut open = match self.open.try_lock() {
            Ok(open) => open,
            Err(TryLockError::Poisoned(open)) => open.into_inner(),
            Err(TryLockError::WouldBlock) => return,
        };
        if open.len() < self.max && !open.contains(tags) {
            open.insert(tags.clone());
            drop(open);
            self.arrived.notify_one();
        }
    }

    /// Completes when there are wishes. Cancel safe.
    pub(crate) async fn arrived(&self) {
        self.arrived.notified().await;
    }

    pub(crate) fn take(&self) -> HashSet<RequestTags> {
        std::mem::take(&mut *self.open.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The tags whose pools are prepared; beyond the limit the least recently used go.
#[derive(Debug)]
pub(crate) struct RouteCache {
    max: usize,
    used_at: HashMap<RequestTags, u64>,
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
        for (tags, route) in view.routes() {
            if route.take_used()
                && let Some(used_at) = self.used_at.get_mut(tags)
            {
                *used_at = self.tick;
            }
        }
    }

    /// Adds tags; returns whether that changed anything.
    pub(crate) fn prepare(&mut self, wishes: impl IntoIterator<Item = RequestTags>) -> bool {
        let mut changed = false;
        for tags in wishes {
            if tags.is_empty() || self.used_at.contains_key(&tags) {
                continue;
            }
            self.tick += 1;
            self.used_at.insert(tags, self.tick);
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

    pub(crate) fn tags(&self) -> Vec<RequestTags> {
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

    use ringfence_core::{Snapshot, ViewConfig};

    use super::*;

    fn tags(name: &str) -> RequestTags {
        RequestTags::new().with_version(name)
    }

    #[test]
    fn the_least_recently_used_goes() {
        let mut cache = RouteCache::new(2);
        assert!(cache.prepare([tags("a"), tags("b")]));
        assert!(!cache.prepare([tags("a")]));
        let view = View::first(ViewConfig::default(), Arc::new(Snapshot::empty()), |_| {
            false
        });
        let view = view.next(Arc::clone(view.snapshot()), cache.tags(), |_| false);
        view.route(&tags("a")).expect("prepared").mark_used();
        cache.note_used(&view);
        cache.prepare([tags("c")]);
        let mut left = cache.tags();
        left.sort();
        assert_eq!(left, [tags("a"), tags("c")]);
        assert_eq!((cache.prepared(), cache.evicted()), (3, 1));
    }

    #[test]
    fn wishes_are_made_once_bounded_and_short() {
        let wishes = RouteWishes::new(2);
        for name in ["a", "a", "b", "c"] {
            wishes.wish(&tags(name));
        }
        wishes.wish(&tags(&"x".repeat(MAX_TEXT + 1)));
        assert_eq!(wishes.take().len(), 2);
        assert!(wishes.take().is_empty());
    }
}

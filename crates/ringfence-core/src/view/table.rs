use std::{
    fmt,
    hash::{BuildHasher, Hash, Hasher, RandomState},
    sync::Arc,
};

use hashbrown::HashTable;

use super::Route;
use crate::{
    pool::Attribute,
    routing::{PlanId, RouteKey, TagValues},
};

/// Routes by plan and by what of a request's tags matters to it. A look-up needs no key of its own, so it allocates nothing.
pub(super) struct RouteTable {
    hasher: RandomState,
    entries: HashTable<(RouteKey, Arc<Route>)>,
}

impl RouteTable {
    pub(super) fn with_capacity(routes: usize) -> Self {
        Self {
            hasher: RandomState::new(),
            entries: HashTable::with_capacity(routes),
        }
    }

    /// `asks` are the attributes that matter to the plan, `None` for all.
    #[inline]
    pub(super) fn get<T: TagValues + ?Sized>(
        &self,
        plan: PlanId,
        asks: Option<&[Attribute]>,
        tags: &T,
    ) -> Option<&Arc<Route>> {
        let hash = self.hash(plan, asks, tags);
        let found = self
            .entries
            .find(hash, |(key, _)| key.plan() == plan && same(key, asks, tags));
        found.map(|(_, route)| route)
    }

    /// Adds a route, if it is not there. The key has nothing but what matters to its plan.
    pub(super) fn insert(
        &mut self,
        key: RouteKey,
        asks: Option<&[Attribute]>,
        route: impl FnOnce(&RouteKey) -> Arc<Route>,
    ) {
        if self.get(key.plan(), asks, key.tags()).is_some() {
            return;
        }
        let hash = self.hash(key.plan(), asks, key.tags());
        let route = route(&key);
        // There is room for all from the start; if there were not, the others would be lost, so their hashes are told.
        let hasher = &self.hasher;
        self.entries.insert_unique(hash, (key, route), |(key, _)| {
            hash_of(hasher, key.plan(), None, key.tags())
        });
    }

    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = (&RouteKey, &Arc<Route>)> {
        self.entries.iter().map(|(key, route)| (key, route))
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    fn hash<T: TagValues + ?Sized>(
        &self,
        plan: PlanId,
        asks: Option<&[Attribute]>,
        tags: &T,
    ) -> u64 {
        hash_of(&self.hasher, plan, asks, tags)
    }
}

/// The same for the attributes that matter, as long as all of a key's do: absent ones leave no trace.
fn hash_of<T: TagValues + ?Sized>(
    hasher: &RandomState,
    plan: PlanId,
    asks: Option<&[Attribute]>,
    tags: &T,
) -> u64 {
    let mut state = hasher.build_hasher();
    // Whole words keep the hasher from shifting what comes after.
    state.write_usize(plan.index());
    let mut add = |attribute: &Attribute, value: &str| {
        attribute.hash(&mut state);
        value.hash(&mut state);
    };
    match asks {
        Some(asks) => {
            for attribute in asks {
                if let Some(value) = tags.value(attribute) {
                    add(attribute, value);
                }
            }
        }
        None => match tags.made() {
            Some(tags) => tags
                .iter()
                .for_each(|(attribute, value)| add(attribute, value)),
            None => tags.each(&mut add),
        },
    }
    state.finish()
}

fn same<T: TagValues + ?Sized>(key: &RouteKey, asks: Option<&[Attribute]>, tags: &T) -> bool {
    match asks {
        Some(asks) => asks
            .iter()
            .all(|attribute| key.tags().get(attribute) == tags.value(attribute)),
        None if tags.made().is_some() => tags.made() == Some(key.tags()),
        None => {
            let (mut of_key, mut same) = (key.tags().iter(), true);
            tags.each(&mut |attribute, value| same &= of_key.next() == Some((attribute, value)));
            same && of_key.next().is_none()
        }
    }
}

impl fmt::Debug for RouteTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

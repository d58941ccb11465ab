use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use super::{
    PoolView,
    judge::{Choice, Judgement},
};
use crate::routing::{Spill, Stage};

/// The stages of one kind of requests, judged against one view.
#[derive(Clone, Debug)]
pub struct Route {
    stages: Box<[StageOutcome]>,
    first: Option<Choice<PoolView>>,
    /// Where the keys go that leave the first, in order.
    further: Box<[Choice<PoolView>]>,
    /// Behind the last of these, for requests that fail there.
    reserve: Option<Choice<PoolView>>,
    used: Arc<AtomicBool>,
}

/// What a stage found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StageOutcome {
    /// The stage.
    pub stage: Stage,
    /// Instances of its pool.
    pub members: usize,
    /// Those of them that take traffic, are healthy and not [absent](super::Absence).
    pub usable: usize,
    /// Share of the keys that it passes on to the next stage that can serve, in permille.
    pub spilled: u16,
}

/// Which of a route's pools serves a request.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Chosen<'a> {
    /// Place of the stage; above 0, earlier ones had too few usable instances, or the key left them.
    pub stage: usize,
    /// Its pool.
    pub pool: &'a PoolView,
    /// Whether an earlier stage could have served and the key [left](Spill) it.
    pub is_spilled: bool,
    /// The pool of the next stage that could serve, for a last attempt if those here fail.
    pub next: Option<&'a PoolView>,
}

impl<'a> Chosen<'a> {
    /// The instances to be tried for a key, at most `limit`, each with the pool that it is a member of: the distinct members
    /// clockwise from the key. Where a later stage could serve too, the last attempt, or what the pool is too small for, is for
    /// that stage's instances outside of the pool, so that a pool whose instances all fail falls through as an empty one does.
    pub fn walk(
        &self,
        key: &'a [u8],
        salt: u64,
        limit: usize,
    ) -> impl Iterator<Item = (&'a PoolView, u32)> + use<'a> {
        let walk = self.pool.walk(self.pool.hash_key(key, salt));
        self.then_beyond(key, salt, limit, walk, |_, _| true)
    }

    /// As [`walk`](Self::walk), past those that `admits` refuses, others take their places, the next ones clockwise first; and with
    /// `first`, a member of the pool, before all others, as the one that [takes the request](PoolView::taker) in place of the
    /// owner.
    #[inline]
    pub fn walk_where<A>(
        &self,
        first: Option<u32>,
        key: &'a [u8],
        salt: u64,
        limit: usize,
        admits: A,
    ) -> impl Iterator<Item = (&'a PoolView, u32)> + use<'a, A>
    where
        A: Fn(&PoolView, u32) -> bool + Copy + 'a,
    {
        let pool = self.pool;
        let others = pool.walk_where(pool.hash_key(key, salt), move |member| {
            Some(member) != first && admits(pool, member)
        });
        let walk = first.into_iter().chain(others);
        self.then_beyond(key, salt, limit, walk, admits)
    }

    #[inline]
    fn then_beyond<W, A>(
        &self,
        key: &'a [u8],
        salt: u64,
        limit: usize,
        walk: W,
        admits: A,
    ) -> impl Iterator<Item = (&'a PoolView, u32)> + use<'a, W, A>
    where
        W: Iterator<Item = u32>,
        A: Fn(&PoolView, u32) -> bool + Copy,
    {
        let pool = self.pool;
        let beyond = self.next.filter(|_| limit > 1).map(|next| {
            let members = next.walk_outside(next.hash_key(key, salt), pool);
            let members = members.filter(move |&member| admits(next, member));
            members.map(move |member| (next, member))
        });
        let mut beyond = beyond.into_iter().flatten();
        let first = beyond.next();
        let own = pool
            .eligible()
            .len()
            .min(limit - usize::from(first.is_some()));
        walk.take(own)
            .map(move |member| (pool, member))
            .chain(first)
            .chain(beyond)
            .take(limit)
    }

    /// The same last attempt for a request without a key; `draw` may be any number.
    #[must_use]
    pub fn beyond(&self, draw: u64) -> Option<(&'a PoolView, u32)> {
        let next = self.next?;
        let member = next.any_outside(draw, self.pool)?;
        Some((next, member))
    }
}

impl Route {
    pub(super) fn new(judgement: Judgement<PoolView>, used: Arc<AtomicBool>) -> Self {
        let mut choices = judgement.choices.into_iter();
        Self {
            stages: judgement.outcomes.into(),
            first: choices.next(),
            further: choices.collect(),
            reserve: judgement.reserve,
            used,
        }
    }

    /// Of a plan that is not there.
    pub(super) fn none() -> Self {
        Self {
            stages: Box::default(),
            first: None,
            further: Box::default(),
            reserve: None,
            used: Arc::default(),
        }
    }

    /// The pool that serves, or most keys where some [spill](Spill) over: that of the first stage with enough usable instances,
    /// else of the first with any, else of the first whose pool is in panic; `None` when there is none. The number is the stage's
    /// place, so 0 means that nothing was fallen back from.
    #[must_use]
    pub fn chosen(&self) -> Option<(usize, &PoolView)> {
        self.first.as_ref().map(|first| (first.stage, &*first.pool))
    }

    /// The [pool that serves](Self::chosen), where it serves all keys and no other could; else `None`.
    #[must_use]
    pub fn sole(&self) -> Option<&PoolView> {
        let first = self.first.as_ref()?;
        let is_sole = first.spilled == 0 && self.behind(0).is_none();
        is_sole.then_some(&*first.pool)
    }

    /// The pool that serves a request with this key. One without draws: its share spills over too.
    #[inline]
    #[must_use]
    pub fn choose(&self, key: Option<&[u8]>, draw: impl FnOnce() -> u64) -> Option<Chosen<'_>> {
        let first = self.first.as_ref()?;
        let chosen = Chosen {
            stage: first.stage,
            pool: &first.pool,
            is_spilled: false,
            next: self.behind(0),
        };
        if first.spilled == 0 {
            return Some(chosen);
        }
        Some(match key {
            Some(key) => self.spill(chosen, key),
            None => self.spill(chosen, &draw().to_le_bytes()),
        })
    }

    fn spill<'a>(&'a self, first: Chosen<'a>, key: &[u8]) -> Chosen<'a> {
        let mut chosen = first;
        let mut leaving = self.first.as_ref().map_or(0, |first| first.spilled);
        for (place, next) in self.further.iter().enumerate() {
            if !Spill::takes(leaving, chosen.stage, key) {
                break;
            }
            chosen = Chosen {
                stage: next.stage,
                pool: &next.pool,
                is_spilled: true,
                next: self.behind(place + 1),
            };
            leaving = next.spilled;
        }
        chosen
    }

    /// The pool behind the one at this place among those that serve.
    #[inline]
    fn behind(&self, place: usize) -> Option<&PoolView> {
        let next = self.further.get(place).or(self.reserve.as_ref());
        next.map(|next| &*next.pool)
    }

    /// What was tried, in order.
    #[must_use]
    pub fn stages(&self) -> &[StageOutcome] {
        &self.stages
    }

    /// Notes that a request took this route; the note is shared by all views that keep the route.
    pub fn mark_used(&self) {
        // A store on every request would make all cores fight for the line.
        if !self.used.load(Ordering::Relaxed) {
            self.used.store(true, Ordering::Relaxed);
        }
    }

    /// Whether a request took this route since the last call.
    #[must_use]
    pub fn take_used(&self) -> bool {
        self.used.swap(false, Ordering::Relaxed)
    }

    pub(super) fn used(&self) -> &Arc<AtomicBool> {
        &self.used
    }
}

impl fmt::Display for StageOutcome {
    /// `[version=gray: 1 usable of 2]`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "[{}: {} usable of {}",
            self.stage, self.usable, self.members
        )?;
        if self.spilled > 0 {
            write!(f, ", {} permille go on", self.spilled)?;
        }
        f.write_str("]")
    }
}

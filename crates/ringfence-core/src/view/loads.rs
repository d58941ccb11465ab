//! Choices of a pool's members by weight and load.

use super::{PoolView, shares::weight_of};
use crate::{load::HashBalanceFactor, ring::KeyHash};

impl PoolView {
    /// The weight that a member has on the ring: 0 for one that takes no traffic.
    #[must_use]
    pub fn weight(&self, member: u32) -> u32 {
        weight_of(self.pool(), member)
    }

    /// Sum of the [weights](Self::weight) of the [eligible](Self::eligible) members.
    #[must_use]
    pub fn eligible_weight(&self) -> u64 {
        self.shares().total()
    }

    /// A place in [`eligible`](Self::eligible), drawn by weight; `draw` is any number, drawn evenly.
    #[must_use]
    pub fn draw(&self, draw: u64) -> Option<usize> {
        self.shares().place(draw)
    }

    /// A place in [`eligible`](Self::eligible) except `taken`, drawn by weight among the others.
    #[must_use]
    pub fn draw_other(&self, taken: usize, draw: u64) -> Option<usize> {
        self.shares().other_than(taken, draw)
    }

    /// The member that takes a request with this key under a bound on loads, where that is not the owner: the first clockwise
    /// that has room. `load` gives what is in flight on a member; an owner without load has room whatever the others have.
    ///
    /// `None` where the owner takes it: also where nobody has room, which can only be while the loads change.
    ///
    /// It takes a sum over all eligible members unless the owner is idle.
    #[must_use]
    pub fn overflow(
        &self,
        key: KeyHash,
        factor: HashBalanceFactor,
        load: impl Fn(u32) -> u64,
    ) -> Option<u32> {
        let owner = self.walk(key).next()?;
        let own = load(owner);
        if own == 0 {
            return None;
        }
        let total = self.eligible().iter().map(|&member| load(member));
        let total = total.fold(0, u64::saturating_add);
        let weights = self.eligible_weight();
        let has_room = |member, load| factor.has_room(load, total, self.weight(member), weights);
        if has_room(owner, own) {
            return None;
        }
        self.walk_where(key, |member| has_room(member, load(member)))
            .next()
    }
}

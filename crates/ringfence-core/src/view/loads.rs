//! Choices of a pool's members by weight and load.

use super::{PoolView, shares::weight_of};
use crate::{
    load::{LoadLimits, Taker},
    ring::HashedKey,
};

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

    /// Who takes a request with this key: the owner, or the first member clockwise that has room, among those that `admits` lets
    /// pass. `load` gives what is in flight on a member; an owner without load has room whatever the others have. `None` where nobody is eligible.
    ///
    /// Where nobody is within the bound, which can only be while the loads change, the first one takes it that is not full.
    ///
    /// With a balance factor it takes a sum over all eligible members, unless the owner is idle.
    #[must_use]
    pub fn taker<'k>(
        &self,
        key: impl Into<HashedKey<'k>>,
        limits: LoadLimits,
        admits: impl Fn(u32) -> bool,
        load: impl Fn(u32) -> u64,
    ) -> Option<Taker> {
        let key: HashedKey<'_> = key.into();
        let owner = { self.walk_where(key, &admits) }.next()?;
        let own = load(owner);
        let may_more = limits.is_below_most(own);
        if let Some(factor) = limits.balance_factor().filter(|_| own > 0) {
            let total = self.eligible().iter().map(|&member| load(member));
            let total = total.fold(0, u64::saturating_add);
            let weights = self.eligible_weight();
            let has_room = |member, load| {
                limits.is_below_most(load)
                    && factor.has_room(load, total, self.weight(member), weights)
            };
            if has_room(owner, own) {
                return Some(Taker::Owner);
            }
            let within = self.walk_where(key, |member| {
                admits(member) && has_room(member, load(member))
            });
            if let Some(other) = { within }.next() {
                return Some(Taker::Other(other));
            }
        }
        if may_more {
            return Some(Taker::Owner);
        }
        let mut others = self.walk_where(key, |member| {
            member != owner && admits(member) && limits.is_below_most(load(member))
        });
        Some(others.next().map_or(Taker::Nobody, Taker::Other))
    }
}

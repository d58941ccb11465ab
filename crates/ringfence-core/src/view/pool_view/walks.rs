use super::{PoolRing, PoolView};
use crate::ring::{HashAlgorithm, HashedKey};

/// Points of a ring, or slots of a table, that are looked at for an instance of another pool.
const SIGHT: usize = 64;

impl PoolView {
    /// The distinct [eligible](Self::eligible) members clockwise from a key, the owner first. No allocation for the first
    /// eight.
    #[inline]
    pub fn walk<'a>(&'a self, key: impl Into<HashedKey<'a>>) -> impl Iterator<Item = u32> + 'a {
        self.walk_where(key, |_| true)
    }

    /// The first [eligible](Self::eligible) member clockwise from a key, the one that [`walk`](Self::walk) begins with, for less work;
    /// `None` where none is eligible.
    #[inline]
    #[must_use]
    pub fn first<'a>(&'a self, key: impl Into<HashedKey<'a>>) -> Option<u32> {
        let key = key.into();
        let owner = self.any_ring().owner(key);
        let owner = owner.and_then(|place| self.member_of(place));
        owner
            .filter(|&member| self.is_open(member))
            .or_else(|| self.first_beyond(key))
    }

    /// Where the owner is none of them.
    #[cold]
    fn first_beyond(&self, key: HashedKey<'_>) -> Option<u32> {
        let mut first = None;
        self.visit_first(key, 1, |member| first = Some(member));
        first
    }

    /// Whether the [hash](HashedKey::hash) of a key says all that its order depends on, without the key itself.
    #[inline]
    #[must_use]
    pub fn is_ordered_by_hash(&self) -> bool {
        matches!(self.any_ring().config().algorithm(), HashAlgorithm::Ring)
    }

    /// Visits the first members of the [walk](Self::walk), at most `most`, in their order: cheaper than to walk to them, because nothing
    /// is kept for going on.
    #[inline]
    pub fn visit_first<'a>(
        &'a self,
        key: impl Into<HashedKey<'a>>,
        most: usize,
        mut visit: impl FnMut(u32),
    ) {
        let is_open = |place| {
            self.member_of(place)
                .is_some_and(|member| self.is_open(member))
        };
        let most = most.min(self.eligible.len());
        self.any_ring().visit(most, key, is_open, |place| {
            if let Some(member) = self.member_of(place) {
                visit(member);
            }
        });
    }

    /// The members of the [walk](Self::walk) that pass `wanted`, which is asked anew at each of their points. The others cost no allocation, however many
    /// they are.
    #[inline]
    pub fn walk_where<'a>(
        &'a self,
        key: impl Into<HashedKey<'a>>,
        wanted: impl Fn(u32) -> bool + 'a,
    ) -> impl Iterator<Item = u32> + 'a {
        self.any_ring()
            .walk_at_most(self.eligible.len(), key, move |place| {
                self.member_of(place)
                    .is_some_and(|member| self.is_open(member) && wanted(member))
            })
            .filter_map(|place| self.member_of(place))
    }

    /// The member that a key belongs to, usable or not.
    pub(in crate::view) fn ring_owner(&self, key: HashedKey<'_>) -> Option<u32> {
        let ring = self.any_ring();
        let place = match &self.ring {
            PoolRing::Own(_) => ring.owner(key),
            PoolRing::Whole { .. } => {
                let mut walk = ring.walk_at_most(1, key, |place| self.member_of(place).is_some());
                walk.next()
            }
        };
        self.member_of(place?)
    }

    /// The distinct usable members clockwise from a key that are not in `pool`, another pool of the same snapshot. It looks at the
    /// first [`SIGHT`] points only: it is for a last attempt, and where nearly all members are in that pool it is not worth the
    /// time of every request to find one.
    pub(in crate::view) fn walk_outside<'a>(
        &'a self,
        key: HashedKey<'a>,
        pool: &'a Self,
    ) -> impl Iterator<Item = u32> + use<'a> {
        let is_wanted = move |place| {
            self.member_of(place)
                .filter(|&member| self.is_usable(member) && self.is_outside(member, pool))
        };
        let ring = self.any_ring();
        // A search by scores looks at everybody in any case, and in no order.
        let is_scored = ring.config().algorithm().is_scored();
        let mut left = if is_scored { usize::MAX } else { SIGHT };
        ring.walk_at_most(self.eligible.len(), key, move |place| {
            // Others' points do not count: with and without a ring of its own the pool sees as far.
            if self.member_of(place).is_none() {
                return false;
            }
            let is_in_sight = left > 0;
            left = left.saturating_sub(1);
            // The first one out of sight is let through, and ends the walk unless it is wanted.
            !is_in_sight || is_wanted(place).is_some()
        })
        .map_while(is_wanted)
    }

    /// One of the usable members that are not in `pool`.
    pub(in crate::view) fn any_outside(&self, draw: u64, pool: &Self) -> Option<u32> {
        let count = self.eligible.len();
        let start = usize::try_from(draw % u64::try_from(count).ok()?.max(1)).ok()?;
        let (before, after) = self.eligible.split_at_checked(start)?;
        let all = after.iter().chain(before).copied().take(SIGHT);
        let mut outside =
            all.filter(|&member| self.is_usable(member) && self.is_outside(member, pool));
        outside.next()
    }

    fn is_outside(&self, member: u32, pool: &Self) -> bool {
        let place = self.pool.members().get(member as usize);
        place.is_some_and(|place| pool.pool.members().binary_search(place).is_err())
    }
}

use std::{array, sync::Arc};

use super::{
    judge::Standing,
    shares::{Shares, weight_of},
    usability::{Usability, bits, has_bit},
};
use crate::{
    pool::{Pool, PoolSpec},
    ring::{HashAlgorithm, HashedKey, Ring},
};

/// A pool with its ring and with what is known of its members' state, as one view has it.
#[derive(Clone, Debug)]
pub struct PoolView {
    pool: Arc<Pool>,
    ring: PoolRing,
    /// A bit for each member: takes traffic, is healthy and not [absent](super::Absence).
    usable: Box<[u64]>,
    standing: Standing,
    /// Members that requests may go to now: the usable ones, or in panic all that take traffic but newcomers.
    eligible: Box<[u32]>,
    /// In panic, a bit for each of them; `None` where they are all that take traffic.
    open: Option<Box<[u64]>>,
    /// Their weights.
    shares: Shares,
    /// Members that are out for having failed alone; none in panic.
    ejected: Box<[u32]>,
    panic: bool,
    specs: Specs,
}

/// Where the order of a pool's members comes from.
#[derive(Clone, Debug)]
enum PoolRing {
    Own(Arc<Ring>),
    /// The ring of all instances, walked past those that are not in the pool: the same order without a ring of its own.
    Whole {
        ring: Arc<Ring>,
        /// Place in the pool of each member of the ring, [`OUTSIDE`] for none.
        member_of: Box<[u32]>,
    },
}

const OUTSIDE: u32 = u32::MAX;

/// Points of a ring, or slots of a table, that are looked at for an instance of another pool.
const SIGHT: usize = 64;

/// Copies of a pool's spec, see [`PoolView::spec`].
const COPIES: usize = 16;

#[derive(Clone, Debug)]
enum Specs {
    /// Of a pool that one request uses.
    One(Arc<PoolSpec>),
    Copies(Arc<[Arc<PoolSpec>; COPIES]>),
}

impl PoolView {
    /// With a ring made of this pool. `before` is a view of the same spec, if there was one.
    pub(super) fn new(
        pool: Arc<Pool>,
        ring: Arc<Ring>,
        usable: Usability,
        panic: bool,
        before: Option<&Self>,
    ) -> Self {
        let specs = match before.map(|before| &before.specs) {
            Some(Specs::Copies(copies)) => Arc::clone(copies),
            _ => Arc::new(array::from_fn(|_| Arc::new(pool.spec().clone()))),
        };
        Self::assemble(
            pool,
            PoolRing::Own(ring),
            usable,
            panic,
            Specs::Copies(specs),
        )
    }

    /// Without a ring of its own: `whole` is that of all instances of the pool's snapshot.
    pub(super) fn on_whole_ring(
        pool: Arc<Pool>,
        whole: Arc<Ring>,
        usable: Usability,
        panic: bool,
    ) -> Self {
        let mut member_of = vec![OUTSIDE; pool.snapshot().len()].into_boxed_slice();
        for (member, &index) in (0u32..).zip(pool.members()) {
            if let Some(place) = member_of.get_mut(index as usize) {
                *place = member;
            }
        }
        let ring = PoolRing::Whole {
            ring: whole,
            member_of,
        };
        let specs = Specs::One(Arc::new(pool.spec().clone()));
        Self::assemble(pool, ring, usable, panic, specs)
    }

    fn assemble(
        pool: Arc<Pool>,
        ring: PoolRing,
        usability: Usability,
        panic: bool,
        specs: Specs,
    ) -> Self {
        let Usability {
            usable,
            usable_members,
            takers,
            has_newcomers,
            ejected,
            standing,
        } = usability;
        let eligible: Box<[u32]> = if panic { takers } else { usable_members }.into();
        let open = (panic && has_newcomers).then(|| bits(pool.len(), &eligible));
        let weights = eligible.iter();
        let shares = Shares::new(weights.map(|&member| weight_of(&pool, member)));
        Self {
            pool,
            ring,
            usable,
            standing,
            eligible,
            open,
            shares,
            ejected: if panic {
                Box::default()
            } else {
                ejected.into()
            },
            panic,
            specs,
        }
    }

    /// What the pool was selected by, for whoever keeps it beyond the view. `spread` may be any number, such as the hash of a
    /// key: it chooses among equal copies, so that threads which do this all the time do not fight over one reference count.
    #[must_use]
    pub fn spec(&self, spread: u64) -> &Arc<PoolSpec> {
        match &self.specs {
            Specs::One(spec) => spec,
            Specs::Copies(copies) => {
                #[expect(
                    clippy::cast_possible_truncation,
                    reason = "any number will do, and its low bits vary most"
                )]
                let place = spread as usize % COPIES;
                &copies[place]
            }
        }
    }

    /// The members.
    #[must_use]
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    pub(super) fn standing(&self) -> Standing {
        self.standing
    }

    pub(super) fn shared_pool(&self) -> &Arc<Pool> {
        &self.pool
    }

    /// The pool's own ring; `None` while a first request walks the ring of all instances in its stead.
    #[must_use]
    pub fn ring(&self) -> Option<&Arc<Ring>> {
        match &self.ring {
            PoolRing::Own(ring) => Some(ring),
            PoolRing::Whole { .. } => None,
        }
    }

    /// Whether a member takes traffic, is healthy and is not [absent](super::Absence).
    #[must_use]
    pub fn is_usable(&self, member: u32) -> bool {
        has_bit(&self.usable, member)
    }

    /// Whether requests may go to a member with points now.
    #[inline]
    pub(super) fn is_open(&self, member: u32) -> bool {
        if !self.panic {
            return self.is_usable(member);
        }
        let open = self.open.as_ref();
        open.is_none_or(|open| has_bit(open, member))
    }

    /// How many members are usable.
    #[must_use]
    pub fn usable_count(&self) -> usize {
        self.standing.usable
    }

    /// Whether so few of the members that take traffic are usable that what says so is ignored.
    #[must_use]
    pub fn is_panic(&self) -> bool {
        self.panic
    }

    /// Members that requests may go to now, in id order: the usable ones, or in panic all that take traffic but [newcomers](super::Absence::is_newcomer).
    #[must_use]
    pub fn eligible(&self) -> &[u32] {
        &self.eligible
    }

    /// Members that get no requests only because they were [ejected](super::Absence::Ejected), in id order; none in panic, where they
    /// are eligible. They are whom to ask when all others fail.
    #[must_use]
    pub fn ejected(&self) -> &[u32] {
        &self.ejected
    }

    /// Hashes a key as the pool's ring wants it. A salt other than 0 makes where the key lies independent of other salts.
    #[inline]
    #[must_use]
    pub fn hash_key<'k>(&self, key: &'k [u8], salt: u64) -> HashedKey<'k> {
        self.any_ring().config().hash_key_salted(key, salt)
    }

    pub(super) fn shares(&self) -> &Shares {
        &self.shares
    }

    #[inline]
    fn any_ring(&self) -> &Ring {
        match &self.ring {
            PoolRing::Own(ring) | PoolRing::Whole { ring, .. } => ring,
        }
    }

    /// The distinct [eligible](Self::eligible) members clockwise from a key, the owner first. No allocation for the first
    /// eight.
    #[inline]
    pub fn walk<'a>(&'a self, key: impl Into<HashedKey<'a>>) -> impl Iterator<Item = u32> + 'a {
        self.walk_where(key, |_| true)
    }

    /// The first of them.
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

    /// Visits the first of them, at most `most`, in their order: cheaper than to [`walk`](Self::walk) to them, because nothing is kept
    /// for going on.
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

    /// Those of them that pass `wanted`, which is asked anew at each of their points. The others cost no allocation, however many
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
    pub(super) fn ring_owner(&self, key: HashedKey<'_>) -> Option<u32> {
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
    pub(super) fn walk_outside<'a>(
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
    pub(super) fn any_outside(&self, draw: u64, pool: &Self) -> Option<u32> {
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

    #[inline]
    fn member_of(&self, place: u32) -> Option<u32> {
        match &self.ring {
            PoolRing::Own(_) => Some(place),
            PoolRing::Whole { member_of, .. } => member_of
                .get(place as usize)
                .copied()
                .filter(|&member| member != OUTSIDE),
        }
    }
}

mod walks;

use std::{array, sync::Arc};

use super::{
    judge::Standing,
    shares::{Shares, weight_of},
    usability::{Usability, bits, has_bit},
};
use crate::{
    pool::{Pool, PoolSpec},
    ring::{HashedKey, Ring},
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

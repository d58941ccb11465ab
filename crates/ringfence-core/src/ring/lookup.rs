use super::{Engine, HashedKey, KeyHash, Ring, Walk, others::Other};

impl Ring {
    /// The member that owns a key; `None` when no member has points.
    #[inline]
    #[must_use]
    pub fn owner<'a>(&'a self, key: impl Into<HashedKey<'a>>) -> Option<u32> {
        let key = key.into();
        match &self.engine {
            Engine::Native(ring) => ring.owner(key.hash()),
            Engine::Other(other) => owner_of_other(other, key.hash(), key.bytes()),
        }
    }

    /// The distinct members clockwise from a key, the owner first.
    #[inline]
    pub fn walk<'a>(&'a self, key: impl Into<HashedKey<'a>>) -> Walk<'a, fn(u32) -> bool> {
        self.walk_where(key, |_| true)
    }

    /// The distinct members clockwise from a key that pass `usable`, which is asked anew at each point, and must not change its mind.
    ///
    /// Skipping members this way gives exactly the order of a ring made without them with [the own ring](super::HashAlgorithm::Ring), nginx's
    /// and rendezvous. With the other [algorithms](super::HashAlgorithm) it is the walk without those skipped, which a ring made without
    /// them may differ from.
    #[inline]
    pub fn walk_where<'a, P: FnMut(u32) -> bool>(
        &'a self,
        key: impl Into<HashedKey<'a>>,
        usable: P,
    ) -> Walk<'a, P> {
        self.walk_at_most(usize::MAX, key, usable)
    }

    /// A walk that ends after `members`, for those who know how many pass `usable`.
    #[inline]
    pub(crate) fn walk_at_most<'a, P: FnMut(u32) -> bool>(
        &'a self,
        members: usize,
        key: impl Into<HashedKey<'a>>,
        usable: P,
    ) -> Walk<'a, P> {
        match &self.engine {
            Engine::Native(ring) => {
                Walk::native(ring.walk_where(members, key.into().hash(), usable))
            }
            Engine::Other(other) => Walk::other(other.walk_where(members, key.into(), usable)),
        }
    }

    /// The members of [`walk_at_most`](Self::walk_at_most), one after the other.
    #[inline]
    pub(crate) fn visit<'a>(
        &'a self,
        members: usize,
        key: impl Into<HashedKey<'a>>,
        usable: impl FnMut(u32) -> bool,
        visit: impl FnMut(u32),
    ) {
        match &self.engine {
            Engine::Native(ring) => ring.visit(members, key.into().hash(), usable, visit),
            Engine::Other(other) => other
                .walk_where(members, key.into(), usable)
                .for_each(visit),
        }
    }
}

/// Takes a key in parts, which lie in registers: a whole one would be written to memory for each key of the own ring too.
#[inline(never)]
fn owner_of_other(other: &Other, hash: KeyHash, bytes: Option<&[u8]>) -> Option<u32> {
    other.owner(HashedKey::of_parts(hash, bytes))
}

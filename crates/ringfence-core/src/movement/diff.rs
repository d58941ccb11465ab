use std::{fmt, sync::Arc};

use super::{
    Basis, KeyMove, MovedRange, WithoutRanges,
    sweep::{self, Piece, Sums, Translation},
};
use crate::{
    instance::InstanceId,
    key_share::KeyShare,
    pool::PoolSpec,
    ring::{HashedKey, NOBODY, Ring},
    view::View,
};

/// What moves from one ring to another: how much of the key space, which ranges of it, from whom to whom. Instances are named
/// by their ids, as their numbers differ between the rings.
///
/// It is exact where the algorithm divides the key space:
///
/// | [algorithm](crate::HashAlgorithm) | shares | ranges |
/// |---|---|---|
/// | the own ring with one probe, Envoy's, nginx's, ketama | exact | of positions |
/// | slots | exact | of slots, which are the keys' hashes |
/// | Maglev | exact, over the slots of its table | none: a key's slot is its hash modulo the size |
/// | the own ring with more probes, jump, rendezvous | [of a sample](Self::sampled) | none |
///
/// Both rings are swept once, `O(points)` with a comparison for each, which is not for the path of a request. It keeps both
/// rings, and 24 bytes for each moved range; there are at most as many as both rings have points together, and one more.
///
/// A key that had no owner, or has none now, moves as well: `from` or `to` is `None`.
///
/// # Examples
/// ```
/// use std::sync::Arc;
/// use ringfence_core::{Instance, Pool, Ring, RingConfig, RingDiff, Selector, Snapshot};
///
/// let ring = |ids: &[&str]| {
///     let instances = ids.iter().map(|id| Instance::builder(id, "10.0.0.1:80").build());
///     let snapshot = Arc::new(instances.collect::<Result<Snapshot, _>>()?);
///     Ok::<_, ringfence_core::InstanceError>(Arc::new(Ring::build(&Pool::select(&snapshot, &Selector::any()), &RingConfig::default())))
/// };
/// let diff = RingDiff::between(ring(&["a", "b", "c"])?, ring(&["a", "b", "c", "d"])?)?;
///
/// // The new one takes about a quarter, from each of the others, and nothing else moves.
/// assert!((0.2..0.3).contains(&diff.moved_share().as_f64()));
/// assert!(diff.moves().all(|m| m.to.is_some_and(|id| id.as_str() == "d")));
/// let first = diff.moved_ranges().next().expect("something moves");
/// assert!(diff.is_moved(ringfence_core::KeyHash::from_raw(first.start)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct RingDiff {
    before: Arc<Ring>,
    after: Arc<Ring>,
    basis: Basis,
    whole: u128,
    sums: Arc<[(u32, u32, u128)]>,
    moved: u128,
    pieces: Arc<[Piece]>,
}

impl RingDiff {
    /// What moves, exactly.
    ///
    /// # Errors
    /// [`WithoutRanges`] where the rings do not divide the key space, or not the same one.
    pub fn between(before: Arc<Ring>, after: Arc<Ring>) -> Result<Self, WithoutRanges> {
        if let Some(size) = common_table(&before, &after) {
            let mut sums = Sums::default();
            for piece in sweep::moved_slots(&before, &after, size) {
                sums.add(piece.from, piece.to, piece.width());
            }
            let (basis, whole) = (Basis::Table(size), size.into());
            return Ok(Self::new(before, after, basis, whole, &sums, Vec::new()));
        }
        let last = common_space(&before, &after)?;
        let (mut sums, mut pieces) = (Sums::default(), Vec::new());
        if !Arc::ptr_eq(&before, &after) {
            for piece in sweep::moved(&before, &after, last) {
                sums.add(piece.from, piece.to, piece.width());
                pieces.push(piece);
            }
        }
        let whole = u128::from(last) + 1;
        Ok(Self::new(
            before,
            after,
            Basis::KeySpace,
            whole,
            &sums,
            pieces,
        ))
    }

    /// What moves of these keys. It has no ranges.
    pub fn sampled<K: AsRef<[u8]>>(
        before: Arc<Ring>,
        after: Arc<Ring>,
        keys: impl IntoIterator<Item = K>,
    ) -> Self {
        let same = Translation::new(&before, &after);
        let (mut sums, mut count) = (Sums::default(), 0_u64);
        for key in keys {
            count = count.saturating_add(1);
            let owner = |ring: &Ring| {
                let hashed = ring.config().hash_key(key.as_ref());
                ring.owner(hashed).unwrap_or(NOBODY)
            };
            let (from, to) = (owner(&before), owner(&after));
            if !same.is_same(from, to) {
                sums.add(from, to, 1);
            }
        }
        let (basis, whole) = (Basis::Sample(count), count.into());
        Self::new(before, after, basis, whole, &sums, Vec::new())
    }

    /// What moves in one pool from a view to another; `None` where one of them has no ring of its own for it.
    ///
    /// # Errors
    /// As [`between`](Self::between).
    #[must_use]
    pub fn of_views(
        before: &View,
        after: &View,
        spec: &PoolSpec,
    ) -> Option<Result<Self, WithoutRanges>> {
        let ring = |view: &View| {
            let pool = view.pools().find(|pool| pool.pool().spec() == spec)?;
            pool.ring().cloned()
        };
        Some(Self::between(ring(before)?, ring(after)?))
    }

    fn new(
        before: Arc<Ring>,
        after: Arc<Ring>,
        basis: Basis,
        whole: u128,
        sums: &Sums,
        pieces: Vec<Piece>,
    ) -> Self {
        Self {
            before,
            after,
            basis,
            whole,
            moved: sums.total(),
            sums: sums.iter().collect(),
            pieces: pieces.into(),
        }
    }

    /// How much of the key space moves between two rings, without the ranges and without their memory; `None` where
    /// [`between`](Self::between) fails.
    #[must_use]
    pub fn share_between(before: &Ring, after: &Ring) -> Option<KeyShare> {
        if let Some(size) = common_table(before, after) {
            let moved = sweep::moved_slots(before, after, size).map(Piece::width);
            return Some(KeyShare::new(moved.sum(), size.into()));
        }
        let last = common_space(before, after).ok()?;
        let moved = sweep::moved(before, after, last).map(Piece::width).sum();
        Some(KeyShare::new(moved, u128::from(last) + 1))
    }

    /// How many steps [`between`](Self::between) takes at most, of some nanoseconds each: for who must not be kept from other work.
    #[must_use]
    pub fn steps_between(before: &Ring, after: &Ring) -> usize {
        before.arc_steps().saturating_add(after.arc_steps())
    }

    /// The ring before.
    #[must_use]
    pub fn before(&self) -> &Arc<Ring> {
        &self.before
    }

    /// The ring after.
    #[must_use]
    pub fn after(&self) -> &Arc<Ring> {
        &self.after
    }

    /// What the shares are measured over.
    #[must_use]
    pub fn basis(&self) -> Basis {
        self.basis
    }

    /// How many of the keys have another owner than before.
    #[must_use]
    pub fn moved_share(&self) -> KeyShare {
        KeyShare::new(self.moved, self.whole)
    }

    /// From whom to whom, each pair once, in the order of the ids.
    #[must_use]
    pub fn moves(&self) -> impl ExactSizeIterator<Item = KeyMove<'_>> {
        self.sums.iter().map(|&(from, to, sum)| KeyMove {
            from: self.before.member_id(from),
            to: self.after.member_id(to),
            share: KeyShare::new(sum, self.whole),
        })
    }

    /// The ranges of positions that move, in order; none where the [basis](Self::basis) is not the key space. A key is in one where the hash that both
    /// rings give it is: [`RingConfig::hash_key`](crate::RingConfig::hash_key).
    #[must_use]
    pub fn moved_ranges(&self) -> impl ExactSizeIterator<Item = MovedRange<'_>> {
        self.pieces.iter().map(|&piece| self.range(piece))
    }

    pub(super) fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    pub(super) fn range(&self, piece: Piece) -> MovedRange<'_> {
        MovedRange {
            start: piece.start,
            end: piece.end,
            from: self.before.member_id(piece.from),
            to: self.after.member_id(piece.to),
        }
    }

    /// Whether a key has another owner than before. The key is to be hashed as both rings hash it; where they do so
    /// differently, compare [`old_owner`](Self::old_owner) with [`new_owner`](Self::new_owner).
    #[must_use]
    pub fn is_moved<'k>(&self, key: impl Into<HashedKey<'k>>) -> bool {
        let key = key.into();
        owner(&self.before, key) != owner(&self.after, key)
    }

    /// Who had a key; `None`: nobody.
    #[must_use]
    pub fn old_owner(&self, key: &[u8]) -> Option<&InstanceId> {
        owner(&self.before, self.before.config().hash_key(key))
    }

    /// Who has it now; `None`: nobody.
    #[must_use]
    pub fn new_owner(&self, key: &[u8]) -> Option<&InstanceId> {
        owner(&self.after, self.after.config().hash_key(key))
    }
}

fn owner<'r>(ring: &'r Ring, key: HashedKey<'_>) -> Option<&'r InstanceId> {
    ring.member_id(ring.owner(key)?)
}

/// The size of the table that both rings have.
fn common_table(before: &Ring, after: &Ring) -> Option<u32> {
    let size = before.table_size()?;
    (after.table_size() == Some(size)).then_some(size)
}

/// The last position of the key space that both rings share out.
fn common_space(before: &Ring, after: &Ring) -> Result<u64, WithoutRanges> {
    let (Some(last), Some(other)) = (before.last_position(), after.last_position()) else {
        return Err(WithoutRanges::NotByPosition);
    };
    if last != other || !before.config().hashes_alike(after.config()) {
        return Err(WithoutRanges::HashedDifferently);
    }
    Ok(last)
}

impl fmt::Debug for RingDiff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RingDiff")
            .field("basis", &self.basis)
            .field("moved", &self.moved_share())
            .field("ranges", &self.pieces.len())
            .field("before", &self.before)
            .field("after", &self.after)
            .finish()
    }
}

//! From the members of a pool to candidates.

use ringfence_core::PoolView;

use crate::{decision::Candidate, published::Published};

/// The candidate that a member of a pool is.
pub(crate) fn candidate(published: &Published, pool: &PoolView, member: u32) -> Option<Candidate> {
    let index = *pool.pool().members().get(member as usize)?;
    published.seats.get(index as usize).cloned().map(Candidate)
}

/// What is in flight on a member of a pool.
pub(crate) fn load(published: &Published, pool: &PoolView, member: u32) -> u64 {
    let index = pool.pool().members().get(member as usize);
    let seat = index.and_then(|index| published.seats.get(*index as usize));
    seat.map_or(0, |seat| seat.node.in_flight())
}

/// The candidates that these members of a pool are.
pub(crate) fn seat(
    published: &Published,
    pool: &PoolView,
    members: impl Iterator<Item = u32>,
) -> impl Iterator<Item = Candidate> {
    members.filter_map(|member| candidate(published, pool, member))
}

//! From the members of a pool to candidates.

use std::sync::Arc;

use ringfence_core::PoolView;

use crate::{Candidate, published::Published};

/// The candidate that a member of a pool is.
pub(crate) fn candidate(published: &Published, pool: &PoolView, member: u32) -> Option<Candidate> {
    let index = *pool.pool().members().get(member as usize)?;
    let seat = published.seats.get(index as usize)?;
    Some(Candidate::new(Arc::clone(seat)))
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

/// The ejected members of a pool, each once. `spread` may be any number: it says who comes first, so that not all fall on one.
pub(crate) fn last_resorts(
    published: &Published,
    pool: &PoolView,
    spread: u64,
) -> impl Iterator<Item = Candidate> {
    let ejected = pool.ejected();
    #[expect(
        clippy::cast_possible_truncation,
        reason = "any number will do, and its low bits vary most"
    )]
    let start = (spread as usize).checked_rem(ejected.len()).unwrap_or(0);
    let (before, after) = ejected.split_at(start);
    seat(published, pool, after.iter().chain(before).copied())
}

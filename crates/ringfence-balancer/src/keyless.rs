//! Choices for requests without a key.

use std::{iter, sync::atomic::Ordering};

use ringfence_core::Chosen;

use crate::{
    MissingKey,
    decision::Candidates,
    published::Published,
    seating::{candidate, seat},
    shared::Shared,
};

/// Distinct eligible members, at most `limit`, which is above zero; `None` if there are none. The last may be of the stage
/// behind, as for keys.
pub(crate) fn choose(
    shared: &Shared,
    published: &Published,
    chosen: &Chosen<'_>,
    missing_key: MissingKey,
    limit: usize,
) -> Option<Candidates> {
    let pool = chosen.pool;
    let eligible = pool.eligible();
    let draw = || fastrand::u64(..);
    let beyond = (limit > 1).then(|| chosen.beyond(draw())).flatten();
    let beyond = beyond.and_then(|(next, member)| candidate(published, next, member));
    let own = limit - usize::from(beyond.is_some());
    let start = match (missing_key, eligible.len()) {
        (_, 0) => return None,
        (MissingKey::RoundRobin, len) => shared.turn.fetch_add(1, Ordering::Relaxed) % len,
        (_, len) => fastrand::usize(..len),
    };
    if missing_key == MissingKey::P2c && eligible.len() > 1 {
        let other = other_than(start, fastrand::usize(..eligible.len() - 1));
        let at = |place: usize| candidate(published, pool, *eligible.get(place)?);
        let (one, two) = (at(start)?, at(other)?);
        let (less, more) = if two.in_flight() < one.in_flight() {
            (two, one)
        } else {
            (one, two)
        };
        let rest = from(eligible, start)
            .filter(|(place, _)| *place != start && *place != other)
            .map(|(_, member)| member);
        let drawn = iter::once(less).chain(iter::once(more));
        let drawn = drawn.chain(seat(published, pool, rest)).take(own);
        return Candidates::collect(drawn.chain(beyond));
    }
    let members = from(eligible, start).map(|(_, member)| member);
    Candidates::collect(seat(published, pool, members.take(own)).chain(beyond))
}

/// One of the places except `taken`, given a draw from one place fewer.
fn other_than(taken: usize, drawn: usize) -> usize {
    drawn + usize::from(drawn >= taken)
}

/// All members once, beginning at a place.
fn from(members: &[u32], start: usize) -> impl Iterator<Item = (usize, u32)> + '_ {
    let (before, after) = members.split_at(start.min(members.len()));
    let before = before.iter().copied().enumerate();
    let after = after.iter().copied().enumerate();
    after
        .map(move |(place, member)| (place + start, member))
        .chain(before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_draw_is_even_over_the_others() {
        for len in 2..10 {
            for taken in 0..len {
                let mut others: Vec<_> =
                    (0..len - 1).map(|drawn| other_than(taken, drawn)).collect();
                others.sort_unstable();
                let expected: Vec<_> = (0..len).filter(|place| *place != taken).collect();
                assert_eq!(others, expected);
            }
        }
    }

    #[test]
    fn all_members_come_once() {
        let members = [7, 8, 9];
        assert_eq!(
            from(&members, 2).collect::<Vec<_>>(),
            [(2, 9), (0, 7), (1, 8)]
        );
        assert_eq!(from(&[], 0).count(), 0);
    }
}

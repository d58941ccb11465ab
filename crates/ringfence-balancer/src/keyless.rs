//! Choices for requests without a key.

use std::sync::atomic::Ordering;

use ringfence_core::Chosen;

use crate::{
    MissingKey,
    admission::Admission,
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
    admission: Admission<'_>,
) -> Option<Candidates> {
    let pool = chosen.pool;
    let eligible = pool.eligible();
    let draw = || fastrand::u64(..);
    let beyond = (limit > 1).then(|| chosen.beyond(draw())).flatten();
    let beyond = beyond.filter(|&(next, member)| admission.admits(next, member));
    let beyond = beyond.and_then(|(next, member)| candidate(published, next, member));
    let admits = |member: &u32| admission.admits(pool, *member);
    let own = limit - usize::from(beyond.is_some());
    let start = match (missing_key, eligible.len()) {
        (_, 0) => return None,
        (MissingKey::RoundRobin, len) => shared.turn.fetch_add(1, Ordering::Relaxed) % len,
        (_, len) => fastrand::usize(..len),
    };
    if missing_key == MissingKey::P2c && eligible.len() > 1 {
        let other = other_than(start, fastrand::usize(..eligible.len() - 1));
        let at = |place: usize| {
            let member = eligible.get(place).filter(|&member| admits(member))?;
            candidate(published, pool, *member)
        };
        let drawn = match (at(start), at(other)) {
            (Some(one), Some(two)) if two.in_flight() < one.in_flight() => [Some(two), Some(one)],
            (one, two) => [one, two],
        };
        let rest = from(eligible, start)
            .filter(|(place, _)| *place != start && *place != other)
            .map(|(_, member)| member)
            .filter(admits);
        let drawn = drawn.into_iter().flatten();
        let drawn = drawn.chain(seat(published, pool, rest)).take(own);
        return Candidates::collect(drawn.chain(beyond));
    }
    let members = from(eligible, start).map(|(_, member)| member);
    let members = members.filter(admits);
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

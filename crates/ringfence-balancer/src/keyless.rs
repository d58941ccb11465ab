//! Choices for requests without a key.

use std::sync::atomic::Ordering;

use arrayvec::ArrayVec;
use ringfence_core::PoolView;

use crate::MissingKey;
use crate::decision::{Candidate, MAX_CANDIDATES};
use crate::pick;
use crate::shared::Shared;
use crate::state::Published;

/// Distinct eligible members, at most `limit`; none if there are none.
pub(crate) fn choose(
    shared: &Shared,
    published: &Published,
    pool: &PoolView,
    limit: usize,
    candidates: &mut ArrayVec<Candidate, MAX_CANDIDATES>,
) {
    let eligible = pool.eligible();
    let start = match (shared.config.missing_key(), eligible.len()) {
        (_, 0) => return,
        (MissingKey::RoundRobin, len) => shared.turn.fetch_add(1, Ordering::Relaxed) % len,
        (_, len) => fastrand::usize(..len),
    };
    if shared.config.missing_key() == MissingKey::P2c && eligible.len() > 1 {
        let other = other_than(start, fastrand::usize(..eligible.len() - 1));
        let pair = [start, other].map(|place| {
            let member = eligible.get(place).copied();
            member.and_then(|member| pick::candidate(published, pool, member))
        });
        let [Some(one), Some(two)] = pair else {
            return;
        };
        let (less, more) = if two.in_flight() < one.in_flight() {
            (two, one)
        } else {
            (one, two)
        };
        candidates.push(less);
        if limit > 1 {
            candidates.push(more);
            let rest =
                from(eligible, start).filter(|(place, _)| *place != start && *place != other);
            pick::seat(
                published,
                pool,
                rest.map(|(_, member)| member).take(limit - 2),
                candidates,
            );
        }
        return;
    }
    let members = from(eligible, start).map(|(_, member)| member);
    pick::seat(published, pool, members.take(limit), candidates);
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

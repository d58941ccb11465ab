//! Choices for requests without a key.

mod least;

use std::sync::atomic::Ordering;

use ringfence_core::{Chosen, PoolView};

use crate::{
    Candidate, MissingKey,
    decision::Candidates,
    published::Published,
    seating::{candidate, load, seat},
    shared::Shared,
    trials::Admitted,
};

/// Distinct eligible members that are not full, at most `limit`, which is above zero; `None` if there are none. The last may be of the stage
/// behind, as for keys.
pub(crate) fn choose(
    shared: &Shared,
    published: &Published,
    chosen: &Chosen<'_>,
    missing_key: MissingKey,
    limit: usize,
    admitted: Admitted<'_>,
) -> Option<Candidates> {
    let pool = chosen.pool;
    let eligible = pool.eligible();
    let draw = || fastrand::u64(..);
    let beyond = (limit > 1).then(|| chosen.beyond(draw())).flatten();
    let limits = shared.config.load_limits();
    let may_more = |candidate: &Candidate| limits.is_below_most(candidate.in_flight());
    let beyond = beyond.filter(|&(next, member)| admitted.admits(next, member));
    let beyond = beyond.and_then(|(next, member)| candidate(published, next, member));
    let beyond = beyond.filter(may_more);
    let own_limit = limit - usize::from(beyond.is_some());
    let may_take = |place: usize| {
        eligible.get(place).is_some_and(|&member| {
            admitted.admits(pool, member) && limits.is_below_most(load(published, pool, member))
        })
    };
    // Whoever is passed by must not double the share of the next one in the list.
    let nth = |turn: usize| {
        let open = || (0..eligible.len()).filter(|&place| may_take(place));
        open().nth(turn.checked_rem(open().count())?)
    };
    let passes_by = limits.most() > 0 || matches!(admitted, Admitted::WithRoom(_));
    let (first, second) = match missing_key {
        MissingKey::P2c => two(published, pool)?,
        MissingKey::LeastRequest => (least_loaded(published, pool, may_take)?, None),
        MissingKey::RoundRobin => {
            let turn = shared.turn.fetch_add(1, Ordering::Relaxed);
            let place = if passes_by {
                nth(turn)
            } else {
                turn.checked_rem(eligible.len())
            };
            (place?, None)
        }
        _ if eligible.is_empty() => return None,
        _ if passes_by => (nth(fastrand::usize(..))?, None),
        _ => (fastrand::usize(..eligible.len()), None),
    };
    // In the order of their places from the first one on, but the second one next.
    let rest = from(eligible, first)
        .filter(|(place, _)| *place != first && Some(*place) != second)
        .map(|(_, member)| member);
    let drawn = [Some(first), second].into_iter().flatten();
    let drawn = drawn.filter_map(|place| eligible.get(place).copied());
    let drawn = drawn
        .chain(rest)
        .filter(|&member| admitted.admits(pool, member));
    let own = seat(published, pool, drawn);
    let mut own = own.filter(may_more).take(own_limit).peekable();
    // The stage behind is for failures, not for what is too much for this one.
    own.peek()?;
    Candidates::collect(own.chain(beyond))
}

/// Places of two members drawn by weight, the less busy one first; of equally busy ones the one that was drawn first.
///
/// Mitzenmacher, "The Power of Two Choices in Randomized Load Balancing", 2001.
fn two(published: &Published, pool: &PoolView) -> Option<(usize, Option<usize>)> {
    let one = pool.draw(fastrand::u64(..))?;
    let Some(other) = pool.draw_other(one, fastrand::u64(..)) else {
        return Some((one, None));
    };
    let busy = |place: usize| least::Busy::with(busy(published, pool, place), 0);
    if busy(other).is_less_than(busy(one)) {
        return Some((other, Some(one)));
    }
    Some((one, Some(other)))
}

fn least_loaded(
    published: &Published,
    pool: &PoolView,
    may_take: impl Fn(usize) -> bool,
) -> Option<usize> {
    let busy = |place| {
        if may_take(place) {
            busy(published, pool, place)
        } else {
            // Behind all others.
            (u64::MAX, 0)
        }
    };
    let all = (0..pool.eligible().len()).map(busy);
    least::place(all, |below| fastrand::u64(..below))
}

/// What is in flight on the member at a place of the eligible ones, and its weight.
fn busy(published: &Published, pool: &PoolView, place: usize) -> (u64, u32) {
    let Some(&member) = pool.eligible().get(place) else {
        return (u64::MAX, 0);
    };
    (load(published, pool, member), pool.weight(member))
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
    fn all_members_come_once() {
        let members = [7, 8, 9];
        assert_eq!(
            from(&members, 2).collect::<Vec<_>>(),
            [(2, 9), (0, 7), (1, 8)]
        );
        assert_eq!(from(&[], 0).count(), 0);
    }
}

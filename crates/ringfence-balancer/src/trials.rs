//! Passing by instances that are on trial and have as many attempts as they may.

use ringfence_core::PoolView;

use crate::{decision::Candidates, published::Published, shared::Shared};

/// Which members of a pool may be candidates.
#[derive(Clone, Copy)]
pub(crate) enum Admitted<'a> {
    All,
    /// Those that may have one more attempt.
    WithRoom(&'a Published),
}

impl Admitted<'_> {
    #[inline]
    pub(crate) fn admits(self, pool: &PoolView, member: u32) -> bool {
        match self {
            Self::All => true,
            Self::WithRoom(published) => has_room(published, pool, member),
        }
    }
}

fn has_room(published: &Published, pool: &PoolView, member: u32) -> bool {
    let place = pool.pool().members().get(member as usize);
    let seat = place.and_then(|&place| published.seats.get(place as usize));
    seat.is_some_and(|seat| seat.node.has_room())
}

fn is_on_trial(published: &Published, pool: &PoolView, member: u32) -> bool {
    let place = pool.pool().members().get(member as usize);
    let seat = place.and_then(|&place| published.seats.get(place as usize));
    seat.is_some_and(|seat| seat.node.is_on_trial())
}

/// What `collect` finds among those with room, the first one with its slot; or among all, where nobody has room, and in panic.
#[inline]
pub(crate) fn choose<'a>(
    shared: &Shared,
    published: &'a Published,
    pool: &PoolView,
    mut collect: impl FnMut(Admitted<'a>) -> Option<Candidates>,
) -> Option<Candidates> {
    if shared.nodes.is_any_on_trial() && !pool.is_panic() {
        let with_room = collect(Admitted::WithRoom(published));
        if let Some(claimed) = with_room.and_then(Candidates::claimed) {
            return Some(claimed);
        }
        // What is too much for the others is not what one on trial is to prove itself by.
        let is_limited = shared.config.load_limits().most() > 0;
        if is_limited
            && pool
                .eligible()
                .iter()
                .any(|&member| !is_on_trial(published, pool, member))
        {
            return None;
        }
    }
    collect(Admitted::All)
}

//! What is known of the members of a pool.

use super::{Absence, judge::Standing};
use crate::pool::Pool;

/// State of the members of a pool.
#[derive(Debug)]
pub(super) struct Usability {
    pub(super) usable: Box<[u64]>,
    pub(super) usable_members: Vec<u32>,
    /// Members that take traffic, whatever their health; newcomers only where there is nobody else.
    pub(super) takers: Vec<u32>,
    /// Whether members are left out of them, because they are newcomers.
    pub(super) has_newcomers: bool,
    /// Members that are out for having failed, and for nothing else.
    pub(super) ejected: Vec<u32>,
    pub(super) standing: Standing,
}

impl Usability {
    /// `absence` says of a place in the snapshot why the instance there gets no requests.
    ///
    /// A newcomer is not there yet: were it counted, many new ones at once would put the pool in panic, and get the
    /// requests that they are to be spared.
    pub(super) fn of(pool: &Pool, absence: &dyn Fn(usize) -> Option<Absence>) -> Self {
        let (mut usable_members, mut takers, mut newcomers) = (Vec::new(), Vec::new(), Vec::new());
        let mut ejected = Vec::new();
        let (mut usable_weight, mut weight, mut newcomer_weight) = (0, 0, 0);
        for ((member, instance), &index) in (0u32..).zip(pool.iter()).zip(pool.members()) {
            if !instance.takes_traffic() {
                continue;
            }
            let own_weight = u64::from(instance.effective_weight());
            let absence = absence(index as usize);
            if absence.is_some_and(Absence::is_newcomer) {
                newcomers.push(member);
                newcomer_weight += own_weight;
                continue;
            }
            takers.push(member);
            weight += own_weight;
            match absence {
                None if instance.is_usable() => {
                    usable_members.push(member);
                    usable_weight += own_weight;
                }
                Some(Absence::Ejected) if instance.is_usable() => ejected.push(member),
                _ => {}
            }
        }
        let has_others = !takers.is_empty();
        let left_out = if has_others { newcomers.len() } else { 0 };
        if !has_others {
            // Nobody else is there: they serve as if they were well known.
            let well = newcomers.iter().copied().filter(|&member| {
                let instance = pool.instance(member);
                instance.is_some_and(|instance| instance.is_usable())
            });
            usable_members.extend(well);
            let weight_of = |&member: &u32| {
                let instance = pool.instance(member);
                instance.map_or(0, |instance| u64::from(instance.effective_weight()))
            };
            usable_weight = usable_members.iter().map(weight_of).sum();
            (takers, weight) = (std::mem::take(&mut newcomers), newcomer_weight);
        }
        Self {
            standing: Standing {
                usable: usable_members.len(),
                takers: takers.len(),
                usable_weight,
                weight,
                warming: left_out,
            },
            usable: bits(pool.len(), &usable_members),
            usable_members,
            takers,
            ejected,
            has_newcomers: !newcomers.is_empty(),
        }
    }

    pub(super) fn standing(&self) -> Standing {
        self.standing
    }
}

pub(super) fn bits(len: usize, members: &[u32]) -> Box<[u64]> {
    let mut bits = vec![0u64; len.div_ceil(64)].into_boxed_slice();
    for &member in members {
        if let Some(word) = bits.get_mut(member as usize / 64) {
            *word |= 1 << (member % 64);
        }
    }
    bits
}

#[inline]
pub(super) fn has_bit(bits: &[u64], member: u32) -> bool {
    bits.get(member as usize / 64)
        .is_some_and(|word| word & (1 << (member % 64)) != 0)
}

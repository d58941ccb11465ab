//! Envoy's `MaglevLoadBalancer`.

use std::{cmp::Reverse, collections::BinaryHeap};

use xxhash_rust::xxh64::xxh64;

use super::hosts::Hosts;
use crate::ring::Maglev;

/// Slots that a walk tries by Envoy's hashes of retries, the owner's included, before it goes on over the table.
const ATTEMPTS: u64 = 64;

/// Whose each slot is; empty where nobody can own anything.
pub(in crate::ring) struct MaglevTable {
    owners: Box<[u32]>,
}

const FREE: u32 = u32::MAX;

/// The order in which a host key asks for slots.
struct Permutation {
    offset: u64,
    skip: u64,
    next: u64,
}

impl MaglevTable {
    pub(super) fn build(hosts: &Hosts, config: &Maglev, seed: u64) -> Self {
        let hosts = hosts.by_key();
        let Some(most) = hosts.iter().map(|(_, host)| host.weight).max() else {
            return Self {
                owners: Box::default(),
            };
        };
        let size = u64::from(config.table_size());
        let sum: f64 = hosts.iter().map(|(_, host)| f64::from(host.weight)).sum();
        let share = |weight: u32| f64::from(weight) / sum;
        let most = share(most);

        // Hosts of one key ask in one order, and whatever one of them found taken is taken: they go on where the last one ended.
        let mut permutations: Vec<Permutation> = Vec::new();
        let mut turns: Vec<Turn> = Vec::new();
        let mut key = None;
        for &(member, host) in &hosts {
            if key != Some(&host.key) {
                permutations.push(Permutation {
                    offset: xxh64(host.key.as_bytes(), seed) % size,
                    skip: xxh64(host.key.as_bytes(), seed.wrapping_add(1)) % (size - 1) + 1,
                    next: 0,
                });
                key = Some(&host.key);
            }
            turns.push(Turn {
                member,
                permutation: permutations.len() - 1,
                share: share(host.weight),
                target: 0.0,
            });
        }

        let mut owners = vec![FREE; config.table_size() as usize].into_boxed_slice();
        // A host passes on a round while the round times its share is below what it has; light ones pass on many, which are
        // jumped over. By round and then in order.
        let mut queue: BinaryHeap<_> = (0..turns.len())
            .map(|turn| Reverse((1_u64, turn)))
            .collect();
        let mut left = owners.len();
        while left > 0
            && let Some(Reverse((round, place))) = queue.pop()
            && let Some(turn) = turns.get_mut(place)
            && let Some(permutation) = permutations.get_mut(turn.permutation)
        {
            turn.target += most;
            if permutation.take(&mut owners, turn.member).is_none() {
                break;
            }
            left -= 1;
            queue.push(Reverse((turn.next_round(round), place)));
        }
        Self { owners }
    }

    pub(super) fn len(&self) -> usize {
        self.owners.len()
    }

    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = (u64, u32)> + '_ {
        let slots = (0..self.owners.len()).map(|slot| slot as u64);
        slots.zip(self.owners.iter().copied())
    }

    #[inline]
    pub(super) fn owner(&self, hash: u64) -> Option<u32> {
        let size = self.owners.len() as u64;
        self.at(hash.checked_rem(size)?)
    }

    fn at(&self, slot: u64) -> Option<u32> {
        self.owners.get(usize::try_from(slot).ok()?).copied()
    }

    /// The owners of the slots that a walk tries, each slot of the table at least once.
    pub(super) fn from(&self, hash: u64) -> Retries<'_> {
        Retries {
            table: self,
            hash,
            step: 0,
        }
    }
}

struct Turn {
    member: u32,
    permutation: usize,
    share: f64,
    target: f64,
}

impl Turn {
    /// The first round after `round` in which it does not pass on.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "rounds are at most slots times the ratio of two weights, 2^43"
    )]
    fn next_round(&self, round: u64) -> u64 {
        let passes_on = |round: u64| (round as f64) * self.share < self.target;
        let mut next = (round + 1).max((self.target / self.share) as u64);
        while next > round + 1 && !passes_on(next - 1) {
            next -= 1;
        }
        while passes_on(next) {
            next += 1;
        }
        next
    }
}

impl Permutation {
    /// Takes the first free slot in its order; `None` where all are taken.
    fn take(&mut self, owners: &mut [u32], member: u32) -> Option<()> {
        let size = owners.len() as u64;
        while self.next < size {
            let slot = (self.offset + self.skip * self.next) % size;
            self.next += 1;
            let owner = owners.get_mut(usize::try_from(slot).ok()?)?;
            if *owner == FREE {
                *owner = member;
                return Some(());
            }
        }
        None
    }
}

/// The owners that a walk meets.
pub(in crate::ring) struct Retries<'a> {
    table: &'a MaglevTable,
    hash: u64,
    step: u64,
}

impl Iterator for Retries<'_> {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        let size = self.table.owners.len() as u64;
        let step = self.step;
        self.step += 1;
        match step.checked_sub(ATTEMPTS) {
            // Attempt 0 is the key's own hash.
            None => self.table.owner(self.hash ^ 0_u64.wrapping_sub(step)),
            Some(forward) if forward < size => self.table.at((self.hash % size + forward) % size),
            Some(_) => None,
        }
    }
}

//! Weighted rendezvous: each member's score for a key.

use std::cmp::Ordering;

use xxhash_rust::xxh64::xxh64;

use super::hosts::Hosts;
use crate::ring::HashedKey;

/// Members given before what is left is sorted once instead of searched each time.
const SEARCHED: u32 = 8;

/// What members' scores are made of.
pub(in crate::ring) struct Scores {
    /// By member: the seed of its hashes, and its weight.
    members: Box<[(u64, u32)]>,
}

/// What is hashed for each member: the key, or of a mere hash its 8 bytes, least first.
#[derive(Clone, Copy)]
pub(in crate::ring) enum ScoredKey<'k> {
    Bytes(&'k [u8]),
    Hash(u64),
}

impl<'k> ScoredKey<'k> {
    pub(super) fn whole(key: HashedKey<'k>) -> Self {
        match key.bytes() {
            Some(bytes) => Self::Bytes(bytes),
            None => Self::Hash(key.get()),
        }
    }
}

/// A member's place in the order for a key: the highest score first, of equal ones the smaller member.
#[derive(Clone, Copy, PartialEq)]
struct Rank {
    score: f64,
    member: u32,
}

impl Rank {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_score = other.score.total_cmp(&self.score);
        by_score.then(self.member.cmp(&other.member))
    }
}

impl Scores {
    pub(super) fn build(hosts: &Hosts, seed: u64) -> Self {
        let member =
            |host: &super::hosts::Host| (xxh64(host.id.as_str().as_bytes(), seed), host.weight);
        Self {
            members: hosts.list.iter().map(member).collect(),
        }
    }

    pub(super) fn seed_of(&self, member: u32) -> u64 {
        let member = self.members.get(member as usize);
        member.map_or(0, |(seed, _)| *seed)
    }

    fn weighted(&self) -> impl Iterator<Item = (u32, u64, u32)> {
        let members = (0..).zip(&self.members);
        members
            .filter(|(_, (_, weight))| *weight > 0)
            .map(|(member, (seed, weight))| (member, *seed, *weight))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, u32)> {
        self.weighted().map(|(member, seed, _)| (seed, member))
    }

    fn ranks(&self, key: ScoredKey<'_>) -> impl Iterator<Item = Rank> {
        self.weighted().map(move |(member, seed, weight)| {
            let hash = match key {
                ScoredKey::Bytes(bytes) => xxh64(bytes, seed),
                ScoredKey::Hash(hash) => xxh64(&hash.to_le_bytes(), seed),
            };
            Rank {
                score: score(hash, weight),
                member,
            }
        })
    }

    pub(super) fn best(&self, key: ScoredKey<'_>) -> Option<u32> {
        let best = self.ranks(key).min_by(Rank::cmp);
        best.map(|rank| rank.member)
    }

    /// `first`, where there is one, and then the other members in the order of their scores.
    pub(super) fn walk_where<'a, P: FnMut(u32) -> bool>(
        &'a self,
        first: Option<u32>,
        key: ScoredKey<'a>,
        left: usize,
        usable: P,
    ) -> ScoredWalk<'a, P> {
        ScoredWalk {
            scores: self,
            key,
            is_first: first.is_some(),
            first,
            last: None,
            given: 0,
            rest: None,
            left,
            usable,
        }
    }
}

/// `-weight / ln(u)` with `u` in (0, 1) from the top 53 bits of the hash.
#[expect(
    clippy::cast_precision_loss,
    reason = "53 bits are what a double holds"
)]
fn score(hash: u64, weight: u32) -> f64 {
    let u = ((hash >> 11) as f64 + 0.5) / 9_007_199_254_740_992.0;
    let ln = libm::log(u);
    if ln < 0.0 {
        f64::from(weight) / -ln
    } else {
        // The half got lost by rounding beside the largest numbers.
        f64::INFINITY
    }
}

/// Members by their scores. No allocation for the first eight; those that `usable` refuses cost none either.
pub(in crate::ring) struct ScoredWalk<'a, P> {
    scores: &'a Scores,
    key: ScoredKey<'a>,
    /// Not given yet.
    is_first: bool,
    first: Option<u32>,
    last: Option<Rank>,
    given: u32,
    rest: Option<std::vec::IntoIter<Rank>>,
    left: usize,
    usable: P,
}

impl<P: FnMut(u32) -> bool> ScoredWalk<'_, P> {
    fn next_rank(&mut self) -> Option<Rank> {
        if self.given < SEARCHED {
            let mut best: Option<Rank> = None;
            for rank in self.scores.ranks(self.key) {
                let is_new = Some(rank.member) != self.first
                    && self.last.is_none_or(|last| last.cmp(&rank).is_lt())
                    && best.is_none_or(|best| rank.cmp(&best).is_lt());
                if is_new && (self.usable)(rank.member) {
                    best = Some(rank);
                }
            }
            return best;
        }
        let (scores, key, first, last) = (self.scores, self.key, self.first, self.last);
        let rest = self.rest.get_or_insert_with(|| {
            let is_new = |rank: &Rank| {
                Some(rank.member) != first && last.is_none_or(|last| last.cmp(rank).is_lt())
            };
            let mut rest: Vec<Rank> = scores.ranks(key).filter(is_new).collect();
            rest.sort_unstable_by(Rank::cmp);
            rest.into_iter()
        });
        rest.find(|rank| (self.usable)(rank.member))
    }
}

impl<P: FnMut(u32) -> bool> Iterator for ScoredWalk<'_, P> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        let left = self.left.checked_sub(1)?;
        if self.is_first {
            self.is_first = false;
            if let Some(first) = self.first
                && (self.usable)(first)
            {
                self.left = left;
                self.given += 1;
                return Some(first);
            }
        }
        let rank = self.next_rank()?;
        self.last = Some(rank);
        self.left = left;
        self.given += 1;
        Some(rank.member)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Clients in other processes and on other machines must get the very same bits. They are those of another implementation
    /// of the logarithm, too.
    #[test]
    fn scores_are_exact_to_the_last_bit() {
        for (hash, weight, bits) in [
            (0x0, 1, 0x3f9b5b96fca558e1),
            (0x800, 1, 0x3f9c2f5e85e75f3a),
            (0x8000000000000000, 1, 0x3ff71547652b82fe),
            (0x123456789abcdef, 3, 0x3fe1b99501a3c473),
            (0xfedcba9876543210, 100, 0x40d5ec7d9fd538c8),
            (0xffffffffffffefff, 1, 0x432ffffffffffffe),
            (0xdeadbeefcafef00d, 1000000, 0x415b5b14d978ed37),
        ] {
            assert_eq!(score(hash, weight).to_bits(), bits, "{hash:#x} {weight}");
        }
        assert_eq!(score(u64::MAX, 1), f64::INFINITY, "never the least");
        assert_eq!(
            score(u64::MAX, 1).total_cmp(&score(0, 1)),
            Ordering::Greater
        );
    }
}

//! The algorithms besides the own ring. Each is made anew of all its hosts: none can be updated in part.

mod digest;
mod distinct;
mod envoy;
mod hosts;
mod jump;
mod ketama;
mod keys;
mod maglev;
mod murmur;
mod nginx;
mod scores;
mod slots;
mod sorted;

use self::{
    distinct::Distinct,
    hosts::Hosts,
    jump::JumpBuckets,
    maglev::{MaglevTable, Retries},
    scores::{ScoredKey, ScoredWalk, Scores},
    slots::SlotOwners,
    sorted::{Clockwise, SortedRing},
};
pub(super) use self::{
    hosts::{Hosts as OtherHosts, expected_entries},
    keys::hash_key,
};
use super::{HashAlgorithm, HashedKey, RingConfig, RingMember};

/// A mapping that is not the own ring.
pub(super) struct Other {
    hosts: Hosts,
    table: Table,
    /// Members that have a weight and nothing in the table, because it is too small: the last ones of walks.
    left_out: Box<[u32]>,
    /// Members that keys can go to.
    populated: usize,
    is_capped: bool,
}

enum Table {
    Wide(SortedRing<u64>),
    Narrow(SortedRing<u32>),
    Maglev(MaglevTable),
    Jump(JumpBuckets, Scores),
    Rendezvous(Scores),
    Slots(SlotOwners, Scores),
}

impl Other {
    pub(super) fn build(hosts: Hosts, config: &RingConfig) -> (Self, Box<[RingMember]>) {
        let seed = config.seed();
        let mut is_capped = hosts.is_capped;
        let table = match config.algorithm() {
            HashAlgorithm::EnvoyRing(envoy) => {
                is_capped = envoy::is_capped(&hosts, envoy);
                Table::Wide(envoy::build(&hosts, envoy, seed))
            }
            HashAlgorithm::Maglev(maglev) => {
                Table::Maglev(MaglevTable::build(&hosts, maglev, seed))
            }
            HashAlgorithm::Nginx(_) => Table::Narrow(nginx::build(&hosts, seed)),
            HashAlgorithm::Ketama(ketama) => {
                is_capped = ketama::is_capped(&hosts, config);
                Table::Narrow(ketama::build(&hosts, ketama, config))
            }
            HashAlgorithm::Jump(jump) => Table::Jump(
                JumpBuckets::build(&hosts, jump),
                Scores::build(&hosts, seed),
            ),
            HashAlgorithm::Slots(slots) => Table::Slots(
                SlotOwners::build(&hosts, slots),
                Scores::build(&hosts, seed),
            ),
            // The own ring is not made here.
            HashAlgorithm::Rendezvous | HashAlgorithm::Ring => {
                Table::Rendezvous(Scores::build(&hosts, seed))
            }
        };
        let members = table.members(&hosts);
        let left_out = match table {
            Table::Wide(_) | Table::Narrow(_) | Table::Maglev(_) => hosts
                .weighted()
                .filter(|(member, _)| members.get(*member as usize).is_some_and(|m| m.points == 0))
                .map(|(member, _)| member)
                .collect(),
            // Whoever has a weight has a score.
            Table::Jump(..) | Table::Rendezvous(_) | Table::Slots(..) => Box::default(),
        };
        let other = Self {
            populated: hosts.weighted().count(),
            left_out,
            is_capped,
            hosts,
            table,
        };
        (other, members)
    }

    /// Whether it is made of these.
    pub(super) fn is_of(&self, hosts: &Hosts) -> bool {
        self.hosts == *hosts
    }

    pub(super) fn is_capped(&self) -> bool {
        self.is_capped
    }

    /// Whether anyone can own a key.
    pub(super) fn is_empty(&self) -> bool {
        self.populated == 0
    }

    #[inline]
    pub(super) fn owner(&self, key: HashedKey<'_>) -> Option<u32> {
        let hash = key.get();
        let owner = match &self.table {
            Table::Wide(ring) => ring.owner(hash),
            Table::Narrow(ring) => ring.owner(hash),
            Table::Maglev(table) => table.owner(hash),
            Table::Jump(buckets, scores) => buckets.owner(hash, scores),
            Table::Rendezvous(scores) => scores.best(ScoredKey::whole(key)),
            Table::Slots(slots, scores) => slots.owner(hash, scores),
        };
        owner.or_else(|| self.left_out.first().copied())
    }

    pub(super) fn walk_where<'a, P: FnMut(u32) -> bool>(
        &'a self,
        members: usize,
        key: HashedKey<'a>,
        usable: P,
    ) -> OtherWalk<'a, P> {
        let members = members.min(self.populated);
        let hash = key.get();
        match &self.table {
            Table::Wide(ring) => OtherWalk::Clockwise(Distinct::new(
                ring.from(hash),
                &self.left_out,
                members,
                usable,
            )),
            Table::Narrow(ring) => OtherWalk::Clockwise(Distinct::new(
                ring.from(hash),
                &self.left_out,
                members,
                usable,
            )),
            Table::Maglev(table) => OtherWalk::Retries(Distinct::new(
                table.from(hash),
                &self.left_out,
                members,
                usable,
            )),
            Table::Jump(buckets, scores) => {
                let first = buckets.owner(hash, scores);
                OtherWalk::Scored(scores.walk_where(first, ScoredKey::Hash(hash), members, usable))
            }
            Table::Rendezvous(scores) => {
                OtherWalk::Scored(scores.walk_where(None, ScoredKey::whole(key), members, usable))
            }
            Table::Slots(slots, scores) => {
                let first = slots.owner(hash, scores);
                let slot = ScoredKey::Hash(slots::slot_of_hash(hash).into());
                OtherWalk::Scored(scores.walk_where(first, slot, members, usable))
            }
        }
    }

    /// What the table has in it, as [`Ring::points`](super::Ring::points) tells it.
    pub(super) fn points(&self) -> Box<dyn ExactSizeIterator<Item = (u64, u32)> + '_> {
        self.table.points()
    }

    pub(super) fn len(&self) -> usize {
        match &self.table {
            Table::Wide(ring) => ring.len(),
            Table::Narrow(ring) => ring.len(),
            Table::Maglev(table) => table.len(),
            Table::Jump(..) | Table::Rendezvous(_) | Table::Slots(..) => self.points().len(),
        }
    }
}

impl Table {
    fn points(&self) -> Box<dyn ExactSizeIterator<Item = (u64, u32)> + '_> {
        let listed =
            |points: &mut dyn Iterator<Item = (u64, u32)>| points.collect::<Vec<_>>().into_iter();
        match self {
            Self::Wide(ring) => Box::new(ring.iter()),
            Self::Narrow(ring) => Box::new(ring.iter()),
            Self::Maglev(table) => Box::new(table.iter()),
            Self::Jump(buckets, _) => Box::new(listed(&mut buckets.iter())),
            Self::Rendezvous(scores) => Box::new(listed(&mut scores.iter())),
            Self::Slots(slots, _) => Box::new(listed(&mut slots.iter())),
        }
    }

    fn members(&self, hosts: &Hosts) -> Box<[RingMember]> {
        let member = |host: &hosts::Host| RingMember {
            id: host.id.clone(),
            points: 0,
        };
        let mut members: Box<[RingMember]> = hosts.list.iter().map(member).collect();
        for (_, owner) in self.points() {
            if let Some(member) = members.get_mut(owner as usize) {
                member.points += 1;
            }
        }
        members
    }
}

/// The members from a key on.
pub(super) enum OtherWalk<'a, P> {
    Clockwise(Distinct<'a, Clockwise<'a>, P>),
    Retries(Distinct<'a, Retries<'a>, P>),
    Scored(ScoredWalk<'a, P>),
}

impl<P: FnMut(u32) -> bool> Iterator for OtherWalk<'_, P> {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        match self {
            Self::Clockwise(walk) => walk.next(),
            Self::Retries(walk) => walk.next(),
            Self::Scored(walk) => walk.next(),
        }
    }
}

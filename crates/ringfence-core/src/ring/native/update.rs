//! What changes between two lists of members.

use super::{
    layout::PointSource,
    owners::{Owner, Owners, VACANT},
    patch::Span,
};
use crate::ring::RingMember;

/// Slots of the new members, and the points that come and go.
pub(super) struct Plan {
    pub(super) owners: Owners,
    pub(super) spans: Vec<Span>,
}

impl Plan {
    /// Both lists are in id order, `owners` are those of the old one. Only ids that come are hashed.
    pub(super) fn new(owners: &Owners, old: &[RingMember], new: &[RingMember], seed: u64) -> Self {
        let mut slot_of = vec![VACANT; old.len()];
        for (slot, member, _) in owners.iter() {
            if let Some(of) = slot_of.get_mut(member as usize) {
                *of = slot;
            }
        }
        let mut draft = Draft {
            members: vec![VACANT; owners.members().len()],
            owners: owners.by_slot().to_vec(),
            spans: Vec::new(),
        };
        let mut coming = Vec::new();
        let mut old = slot_of.iter().zip(old).peekable();
        for (place, member) in (0u32..).zip(new) {
            let mut kept = VACANT;
            while let Some((slot, before)) =
                old.next_if(|(_, before)| before.id.is_same(&member.id) || before.id < member.id)
            {
                let is_same = before.id.is_same(&member.id);
                if is_same && member.points > 0 {
                    kept = *slot;
                } else {
                    draft.resize(*slot, 0);
                }
                if is_same {
                    break;
                }
            }
            if kept != VACANT {
                draft.take(kept, place);
                draft.resize(kept, member.points);
            } else if member.points > 0 {
                coming.push((place, member));
            }
        }
        for (slot, _) in old {
            draft.resize(*slot, 0);
        }
        let mut slot = 0;
        for (place, member) in coming {
            slot = draft.vacant_from(slot);
            draft.take(slot, place);
            draft.begin(slot, PointSource::new(member.id.as_str(), seed));
            draft.resize(slot, member.points);
        }
        Self {
            owners: Owners::new(draft.members, draft.owners),
            spans: draft.spans,
        }
    }
}

struct Draft {
    members: Vec<u32>,
    owners: Vec<Owner>,
    spans: Vec<Span>,
}

impl Draft {
    /// The first slot from this one on that nobody has; it may be one more than there are.
    fn vacant_from(&self, slot: u32) -> u32 {
        let from = self.members.iter().skip(slot as usize);
        slot + (0..)
            .zip(from)
            .find(|(_, member)| **member == VACANT)
            .map_or_else(
                || u32::try_from(self.members.len()).unwrap_or(u32::MAX) - slot,
                |(distance, _)| distance,
            )
    }

    fn take(&mut self, slot: u32, member: u32) {
        match self.members.get_mut(slot as usize) {
            Some(of) => *of = member,
            None => {
                self.members.push(member);
                self.owners.push(Owner::default());
            }
        }
    }

    fn begin(&mut self, slot: u32, source: PointSource) {
        if let Some(owner) = self.owners.get_mut(slot as usize) {
            *owner = Owner { source, points: 0 };
        }
    }

    fn resize(&mut self, slot: u32, points: u32) {
        let Some(owner) = self.owners.get_mut(slot as usize) else {
            return;
        };
        let had = std::mem::replace(&mut owner.points, points);
        if had != points {
            self.spans.push(Span {
                source: owner.source,
                slot,
                first: had.min(points),
                end: had.max(points),
                is_added: had < points,
            });
        }
    }
}

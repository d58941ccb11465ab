//! A changed ring as a merge of sorted runs: the old points that stay, and the points that are new.

use std::cmp::Ordering;

use super::{
    layout::PointSource,
    points::{Point, Points},
};
use crate::ring::RingMember;

/// What becomes of the points of the old members.
struct Plan {
    /// New place of each old member; `None` where it left.
    new_place: Vec<Option<u32>>,
    /// Points that came, with new places, sorted.
    added: Vec<Point>,
    /// Points that went although their member stayed (its weight fell), with old places, sorted.
    dropped: Vec<Point>,
}

/// Both member lists are in id order, so places change but their order does not, and old points stay sorted.
pub(super) fn merge(old: &[RingMember], points: &Points, new: &[RingMember], seed: u64) -> Points {
    let Plan {
        new_place,
        added,
        dropped,
    } = plan(old, new, seed);
    let mut dropped = dropped.into_iter().peekable();
    let kept = points.iter().filter_map(|point| {
        if dropped.next_if_eq(&point).is_some() {
            return None;
        }
        let (position, owner) = point;
        Some((position, (*new_place.get(owner as usize)?)?))
    });

    let mut merged = Vec::with_capacity(new.iter().map(|member| member.points as usize).sum());
    let mut added = added.into_iter().peekable();
    for point in kept {
        while let Some(earlier) = added.next_if(|new| *new < point) {
            merged.push(earlier);
        }
        merged.push(point);
    }
    merged.extend(added);
    Points::from_sorted(merged.into_iter())
}

fn plan(old: &[RingMember], new: &[RingMember], seed: u64) -> Plan {
    let mut plan = Plan {
        new_place: vec![None; old.len()],
        added: Vec::new(),
        dropped: Vec::new(),
    };
    let mut old = (0u32..).zip(old).peekable();
    for (new_place, member) in (0u32..).zip(new) {
        let mut had = 0;
        while let Some((old_place, before)) = old.next_if(|(_, before)| before.id <= member.id) {
            if before.id.cmp(&member.id) == Ordering::Equal {
                had = before.points;
                if let Some(place) = plan.new_place.get_mut(old_place as usize) {
                    *place = Some(new_place);
                }
                if had > member.points {
                    let source = PointSource::new(member.id.as_str(), seed);
                    plan.dropped
                        .extend((member.points..had).map(|i| (source.point(i), old_place)));
                }
            }
        }
        if member.points > had {
            let source = PointSource::new(member.id.as_str(), seed);
            plan.added
                .extend((had..member.points).map(|i| (source.point(i), new_place)));
        }
    }
    plan.added.sort_unstable();
    plan.dropped.sort_unstable();
    plan
}

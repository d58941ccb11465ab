use super::{NativeRing, cut::Entry, place::Place, probes::nearest};
use crate::ring::{KeyHash, seen::Seen};

pub(in crate::ring) struct NativeWalk<'a, P> {
    ring: &'a NativeRing,
    cursor: Cursor<'a>,
    points_left: usize,
    members_left: usize,
    usable: P,
    given: Seen,
}

enum Cursor<'a> {
    /// The next points and their bucket.
    Plain(usize, &'a [Entry]),
    /// The key; each step searches from all of its probes, which is cheaper than carrying their places along.
    Probes(u64),
}

impl<'a, P: FnMut(u32) -> bool> NativeWalk<'a, P> {
    #[inline]
    pub(super) fn new(ring: &'a NativeRing, members: usize, position: u64, usable: P) -> Self {
        let cursor = if ring.probes.is_plain() {
            let first = ring.points.successor(position, &ring.owners);
            let place = first.map_or_else(Place::default, |(place, _)| place);
            Cursor::Plain(place.bucket(), ring.points.rest(place))
        } else {
            Cursor::Probes(position)
        };
        Self {
            ring,
            cursor,
            points_left: ring.points.len(),
            members_left: members,
            usable,
            given: Seen::default(),
        }
    }
}

impl<P: FnMut(u32) -> bool> Iterator for NativeWalk<'_, P> {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        if self.members_left == 0 {
            return None;
        }
        let Self {
            ring,
            usable,
            given,
            ..
        } = self;
        let mut is_wanted = |member| !given.contains(member) && usable(member);
        let found = match &mut self.cursor {
            Cursor::Plain(bucket, rest) => {
                let left = &mut self.points_left;
                plain(ring, bucket, rest, left, &mut is_wanted)
            }
            Cursor::Probes(key) => probed(ring, *key, &mut is_wanted),
        };
        let Some(member) = found else {
            self.members_left = 0;
            return None;
        };
        self.members_left -= 1;
        self.given.insert(member);
        Some(member)
    }
}

impl NativeRing {
    /// All of a walk at once: nothing of it is carried from one member to the next, which is most of what a short one costs.
    #[inline]
    pub(in crate::ring) fn visit(
        &self,
        members: usize,
        key: KeyHash,
        mut usable: impl FnMut(u32) -> bool,
        mut visit: impl FnMut(u32),
    ) {
        if !self.probes.is_plain() {
            return self.walk_where(members, key, usable).for_each(visit);
        }
        let Some((place, _)) = self.points.successor(key.get(), &self.owners) else {
            return;
        };
        let (mut bucket, mut rest) = (place.bucket(), self.points.rest(place));
        let mut points_left = self.points.len();
        let mut given = Seen::default();
        for _ in 0..members.min(self.populated) {
            let mut is_wanted = |member| !given.contains(member) && usable(member);
            let left = &mut points_left;
            let Some(member) = plain(self, &mut bucket, &mut rest, left, &mut is_wanted) else {
                return;
            };
            given.insert(member);
            visit(member);
        }
    }
}

/// The next point of a wanted member, of those that are left of one turn.
#[inline]
fn plain<'a>(
    ring: &'a NativeRing,
    bucket: &mut usize,
    rest: &mut &'a [Entry],
    points_left: &mut usize,
    is_wanted: &mut impl FnMut(u32) -> bool,
) -> Option<u32> {
    while *points_left > 0 {
        let Some((point, further)) = rest.split_first() else {
            (*bucket, *rest) = ring.points.behind(*bucket);
            continue;
        };
        *rest = further;
        *points_left -= 1;
        let member = ring.owners.member(point.slot())?;
        if is_wanted(member) {
            return Some(member);
        }
    }
    None
}

/// The nearest point of a wanted member behind any probe.
fn probed(ring: &NativeRing, key: u64, is_wanted: &mut impl FnMut(u32) -> bool) -> Option<u32> {
    let mut places = ring.probes.places(key, &ring.points, &ring.owners);
    for place in &mut places {
        // What one probe does not find in a whole turn, the others do not either.
        let mut points_left = ring.points.len();
        while !is_wanted(ring.member(*place)?) {
            points_left -= 1;
            if points_left == 0 {
                return None;
            }
            *place = ring.points.following(*place);
        }
    }
    ring.member(nearest(key, &places, &ring.points, &ring.owners))
}

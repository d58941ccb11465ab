use arrayvec::ArrayVec;

use super::points::Points;

/// Members up to this number are remembered without an allocation.
const INLINE: usize = 8;

pub(in crate::ring) struct NativeWalk<'a, P> {
    points: &'a Points,
    place: usize,
    points_left: usize,
    members_left: usize,
    usable: P,
    given: Given,
}

impl<'a, P: FnMut(u32) -> bool> NativeWalk<'a, P> {
    pub(super) fn new(points: &'a Points, members: usize, position: u64, usable: P) -> Self {
        Self {
            points,
            place: points.successor(position),
            points_left: points.len(),
            members_left: members,
            usable,
            given: Given::default(),
        }
    }
}

impl<P: FnMut(u32) -> bool> Iterator for NativeWalk<'_, P> {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        while self.members_left > 0 && self.points_left > 0 {
            let member = self.points.owner_at(self.place)?;
            self.points_left -= 1;
            self.place += 1;
            if self.place == self.points.len() {
                self.place = 0;
            }
            if !self.given.contains(member) && (self.usable)(member) {
                self.members_left -= 1;
                self.given.insert(member);
                return Some(member);
            }
        }
        None
    }
}

/// The members that were given already.
#[derive(Default)]
struct Given {
    first: ArrayVec<u32, INLINE>,
    /// A bit for each further member; empty until the ninth.
    further: Vec<u64>,
}

impl Given {
    fn contains(&self, member: u32) -> bool {
        self.first.contains(&member)
            || self
                .further
                .get(member as usize / 64)
                .is_some_and(|word| word & (1 << (member % 64)) != 0)
    }

    fn insert(&mut self, member: u32) {
        if self.first.try_push(member).is_err() {
            let word = member as usize / 64;
            if self.further.len() <= word {
                self.further.resize(word + 1, 0);
            }
            if let Some(word) = self.further.get_mut(word) {
                *word |= 1 << (member % 64);
            }
        }
    }
}

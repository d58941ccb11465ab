use std::{
    collections::{HashMap, HashSet},
    hash::Hash,
    time::{Duration, Instant},
};

/// Tells new members from those that were there a moment ago.
///
/// Those of the first list that is not empty are not new: the program starts with them. One that comes back within [`Newcomers::RETURN`] is not
/// new either, as when discovery flickers.
///
/// # Examples
/// ```
/// use std::time::{Duration, Instant};
/// use ringfence_core::Newcomers;
///
/// let (mut newcomers, now) = (Newcomers::default(), Instant::now());
/// assert!(newcomers.resize(["a", "b"], now).is_empty());
/// assert_eq!(newcomers.resize(["a", "c"], now), ["c"]);
/// assert!(newcomers.resize(["a", "b", "c"], now + Duration::from_secs(29)).is_empty());
/// ```
#[derive(Debug)]
pub struct Newcomers<I> {
    members: HashSet<I>,
    /// There was a list that is not empty.
    has_begun: bool,
    /// When they left.
    departed: HashMap<I, Instant>,
}

impl<I> Default for Newcomers<I> {
    fn default() -> Self {
        Self {
            members: HashSet::new(),
            has_begun: false,
            departed: HashMap::new(),
        }
    }
}

/// Departed members that are remembered; what comes back of more of them is new.
const MOST_DEPARTED: usize = 65_536;

impl<I: Clone + Eq + Hash> Newcomers<I> {
    /// How long one may be away.
    pub const RETURN: Duration = Duration::from_secs(30);

    /// Takes the list of all members; gives those that are new, in its order.
    pub fn resize(&mut self, members: impl IntoIterator<Item = I>, now: Instant) -> Vec<I> {
        let is_away = |left: &Instant| now.saturating_duration_since(*left) <= Self::RETURN;
        self.departed.retain(|_, left| is_away(left));
        let mut new = Vec::new();
        let mut current = HashSet::new();
        for member in members {
            let was_there = !self.has_begun || self.members.contains(&member);
            if self.departed.remove(&member).is_none() && !was_there && !current.contains(&member) {
                new.push(member.clone());
            }
            current.insert(member);
        }
        for left in self.members.drain() {
            if !current.contains(&left) && self.departed.len() < MOST_DEPARTED {
                self.departed.insert(left, now);
            }
        }
        self.has_begun |= !current.is_empty();
        self.members = current;
        new
    }

    /// Whether it is a member.
    #[must_use]
    pub fn is_member(&self, id: &I) -> bool {
        self.members.contains(id)
    }

    /// Whether it is a member, or left so short a time ago that it would not be new.
    #[must_use]
    pub fn is_known(&self, id: &I) -> bool {
        self.members.contains(id) || self.departed.contains_key(id)
    }
}

#[cfg(test)]
#[allow(
    clippy::disallowed_methods,
    reason = "tests need some time to start from"
)]
mod tests {
    use super::*;

    #[test]
    fn who_was_away_for_longer_is_new_again() {
        let (mut newcomers, start) = (Newcomers::default(), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        assert!(newcomers.resize([1, 2], at(0)).is_empty());
        assert!(newcomers.resize([1], at(10)).is_empty());
        assert!(newcomers.is_known(&2) && !newcomers.is_known(&3));
        assert!(newcomers.resize([1, 2], at(40)).is_empty());
        assert!(newcomers.resize([1], at(50)).is_empty());
        assert_eq!(newcomers.resize([1, 2], at(81)), [2]);
    }

    #[test]
    fn the_first_who_come_are_not_new() {
        let mut newcomers = Newcomers::default();
        let now = Instant::now();
        assert!(newcomers.resize([], now).is_empty());
        assert!(newcomers.resize([7], now).is_empty());
        assert_eq!(newcomers.resize([2, 7, 1, 2], now), [2, 1]);
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let (mut newcomers, now) = (Newcomers::default(), Instant::now());
        for n in 0..3 {
            let members = (0..MOST_DEPARTED).map(|i| n * MOST_DEPARTED + i);
            newcomers.resize(members, now);
        }
        assert_eq!(newcomers.departed.len(), MOST_DEPARTED);
    }
}

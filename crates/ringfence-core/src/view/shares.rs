//! The shares of a pool's eligible members by weight.

use crate::pool::Pool;

/// Weight of a member on the ring; 0 for one that is not there.
pub(super) fn weight_of(pool: &Pool, member: u32) -> u32 {
    let place = pool.members().get(member as usize);
    place.map_or(0, |place| pool.snapshot().ring_weight(*place))
}

/// Weights of the members that requests may go to now, for draws and bounds.
#[derive(Clone, Debug)]
pub(super) struct Shares {
    total: u64,
    /// Sums of the weights up to and with each place; `None` where all weights are equal and a place can be drawn directly.
    sums: Option<Box<[u64]>>,
    len: u64,
}

impl Shares {
    /// Of weights in the order of the places.
    pub(super) fn new(weights: impl Iterator<Item = u32> + Clone) -> Self {
        let mut total = 0;
        let mut first = None;
        let mut are_equal = true;
        let mut len = 0;
        for weight in weights.clone() {
            total += u64::from(weight);
            are_equal &= *first.get_or_insert(weight) == weight;
            len += 1;
        }
        let mut sum = 0;
        let sums = weights.map(|weight| {
            sum += u64::from(weight);
            sum
        });
        Self {
            total,
            sums: (!are_equal && total > 0).then(|| sums.collect()),
            len,
        }
    }

    /// Sum of the weights.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// The place that an even draw falls on, by weight; `None` where there is none.
    pub(super) fn place(&self, draw: u64) -> Option<usize> {
        let Some(sums) = &self.sums else {
            return usize::try_from(scaled(draw, self.len)?).ok();
        };
        let drawn = scaled(draw, self.total)?;
        Some(sums.partition_point(|sum| *sum <= drawn))
    }

    /// The same among the places but `taken`.
    pub(super) fn other_than(&self, taken: usize, draw: u64) -> Option<usize> {
        let Some(sums) = &self.sums else {
            let drawn = usize::try_from(scaled(draw, self.len.checked_sub(1)?)?).ok()?;
            return Some(drawn + usize::from(drawn >= taken));
        };
        let before = match taken.checked_sub(1) {
            Some(previous) => *sums.get(previous)?,
            None => 0,
        };
        let own = sums.get(taken)? - before;
        let drawn = scaled(draw, self.total - own)?;
        // What would fall on the place that is taken, and behind it, moves on by its weight.
        let drawn = if drawn >= before { drawn + own } else { drawn };
        Some(sums.partition_point(|sum| *sum <= drawn))
    }
}

/// Maps an even draw to `0..len` (Lemire, "Fast Random Integer Generation in an Interval", 2019, without its rejection: the
/// lengths here are far too small for it to matter).
fn scaled(draw: u64, len: u64) -> Option<u64> {
    if len == 0 {
        return None;
    }
    u64::try_from((u128::from(draw) * u128::from(len)) >> 64).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Draws that fall in the middle of each of `steps` equal parts.
    fn draws(steps: u64) -> impl Iterator<Item = u64> {
        let part = u64::MAX / steps;
        (0..steps).map(move |step| step * part + part / 2)
    }

    fn counts(places: usize, drawn: impl Iterator<Item = usize>) -> Vec<u32> {
        let mut counts = vec![0; places];
        for place in drawn {
            counts[place] += 1;
        }
        counts
    }

    #[test]
    fn draws_go_by_weight() {
        let shares = Shares::new([10, 0, 30, 60].into_iter());
        let drawn = draws(100).filter_map(|draw| shares.place(draw));
        assert_eq!(counts(4, drawn), [10, 0, 30, 60]);
        let equal = Shares::new([7; 4].into_iter());
        let drawn = draws(100).filter_map(|draw| equal.place(draw));
        assert_eq!(counts(4, drawn), [25; 4]);
        assert_eq!((shares.total(), equal.total()), (100, 28));
    }

    #[test]
    fn a_second_draw_is_by_weight_among_the_others() {
        for weights in [[10, 20, 30, 40], [25; 4]] {
            let shares = Shares::new(weights.into_iter());
            for taken in 0..4 {
                let rest = 100 - u64::from(weights[taken]);
                let drawn = draws(rest).filter_map(|draw| shares.other_than(taken, draw));
                let mut expected = weights.to_vec();
                expected[taken] = 0;
                assert_eq!(counts(4, drawn), expected, "{weights:?} but {taken}");
            }
        }
    }

    #[test]
    fn nobody_is_drawn_from_none() {
        let none = Shares::new([].into_iter());
        assert_eq!((none.place(7), none.other_than(0, 7)), (None, None));
        let alone = Shares::new([5].into_iter());
        assert_eq!(
            (alone.place(u64::MAX), alone.other_than(0, 7)),
            (Some(0), None)
        );
    }
}

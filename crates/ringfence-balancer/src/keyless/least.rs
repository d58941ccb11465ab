//! The least busy of all.

/// How busy an instance is: requests for its weight.
#[derive(Clone, Copy, Debug)]
pub(super) struct Busy {
    requests: u64,
    weight: u32,
}

impl Busy {
    /// What is in flight, and `more` besides.
    pub(super) fn with((in_flight, weight): (u64, u32), more: u64) -> Self {
        Self {
            requests: in_flight.saturating_add(more),
            weight,
        }
    }

    /// Both sides times both weights, so that nothing is rounded.
    fn over(self, other: Self) -> u128 {
        u128::from(self.requests) * u128::from(other.weight)
    }

    pub(super) fn is_less_than(self, other: Self) -> bool {
        self.over(other) < other.over(self)
    }
}

/// The place with the fewest requests in flight for its weight, the one to come included. Of equal ones each has the same
/// chance, in one pass (Vitter, "Random Sampling with a Reservoir", 1985): `draw` gives a number below its argument.
pub(super) fn place(
    loads: impl Iterator<Item = (u64, u32)>,
    draw: impl Fn(u64) -> u64,
) -> Option<usize> {
    let mut least: Option<(usize, Busy)> = None;
    let mut equal = 0;
    for (place, load) in loads.enumerate() {
        let busy = Busy::with(load, 1);
        match least {
            Some((_, best)) if best.is_less_than(busy) => continue,
            Some((_, best)) if !busy.is_less_than(best) => {
                equal += 1;
                if draw(equal) != 0 {
                    continue;
                }
            }
            _ => equal = 1,
        }
        least = Some((place, busy));
    }
    least.map(|(place, _)| place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_for_its_weight_wins() {
        let least = |loads: &[(u64, u32)]| place(loads.iter().copied(), |_| 1);
        assert_eq!(least(&[(3, 100), (1, 100), (2, 100)]), Some(1));
        // Five of 300 are fewer than two of 100, and 2^64-1 overflows nothing.
        assert_eq!(least(&[(2, 100), (5, 300), (u64::MAX, u32::MAX)]), Some(1));
        assert_eq!(least(&[]), None);
    }

    #[test]
    fn equal_ones_have_equal_chances() {
        let seed = 7;
        let mut random = fastrand::Rng::with_seed(seed);
        let loads = [(0, 100), (9, 100), (0, 100), (0, 100), (8, 100)];
        let mut chosen = [0_u32; 5];
        for _ in 0..30_000 {
            let draws = std::cell::RefCell::new(&mut random);
            let place = place(loads.into_iter(), |below| draws.borrow_mut().u64(..below));
            chosen[place.expect("one")] += 1;
        }
        for place in [0, 2, 3] {
            let share = chosen[place];
            assert!((9_700..10_300).contains(&share), "seed {seed}: {chosen:?}");
        }
        assert_eq!((chosen[1], chosen[4]), (0, 0));
    }
}

use crate::Instance;

/// The part of the keys that the weight of each instance asks for, from 0 to 1, in the order in which they are given: 0 for those that
/// [take no traffic](Instance::takes_traffic).
///
/// # Examples
/// ```
/// use ringfence_core::{Instance, weight_shares};
///
/// let instances = [
///     Instance::builder("a", "10.0.0.1:80").weight(300).build()?,
///     Instance::builder("b", "10.0.0.2:80").weight(100).build()?,
///     Instance::builder("c", "10.0.0.3:80").weight(0).build()?,
/// ];
/// assert_eq!(weight_shares(&instances), [0.75, 0.25, 0.0]);
/// # Ok::<(), ringfence_core::InstanceError>(())
/// ```
#[must_use]
pub fn weight_shares<'a>(instances: impl IntoIterator<Item = &'a Instance>) -> Vec<f64> {
    let weight = |instance: &Instance| match instance.takes_traffic() {
        true => f64::from(instance.weight().get()),
        false => 0.0,
    };
    let weights: Vec<f64> = instances.into_iter().map(weight).collect();
    let total: f64 = weights.iter().sum();
    let share = |weight| if total > 0.0 { weight / total } else { 0.0 };
    weights.into_iter().map(share).collect()
}

/// How far the parts of instances are from what is asked for.
///
/// # Examples
/// ```
/// use ringfence_core::Evenness;
///
/// // What each of them has, and what its weight asks for.
/// let evenness = Evenness::of([(0.6, 0.5), (0.4, 0.5)]).expect("there are some");
/// assert!((evenness.max_over_mean - 1.2).abs() < 1e-9 && (evenness.cv - 0.2).abs() < 1e-9);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Evenness {
    /// Standard deviation of the parts, each compared with what is asked for; 0 is even.
    pub cv: f64,
    /// The largest of the parts, compared so; 1 is even.
    pub max_over_mean: f64,
}

/// Even.
impl Default for Evenness {
    fn default() -> Self {
        Self {
            cv: 0.0,
            max_over_mean: 1.0,
        }
    }
}

impl Evenness {
    /// Of pairs of a part and what is asked for. Those that are asked to have nothing do not count; `None` where none counts.
    #[must_use]
    pub fn of(pairs: impl IntoIterator<Item = (f64, f64)>) -> Option<Self> {
        let (mut count, mut squares, mut max) = (0.0, 0.0, 0.0_f64);
        for (part, asked) in pairs {
            if asked > 0.0 {
                let relative = part / asked;
                count += 1.0;
                squares += (relative - 1.0) * (relative - 1.0);
                max = max.max(relative);
            }
        }
        (count > 0.0).then(|| Self {
            cv: (squares / count).sqrt(),
            max_over_mean: max,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_asked_for_nothing_does_not_count() {
        let even = Evenness::of([(0.5, 0.5), (0.5, 0.5), (0.0, 0.0), (0.1, 0.0)]);
        let even = even.expect("two count");
        assert_eq!((even.cv, even.max_over_mean), (0.0, 1.0));
        assert_eq!(Evenness::of([]), None);
        assert_eq!(Evenness::of([(1.0, 0.0)]), None);
        // A part of twice the weight has twice the keys.
        let weighted = Evenness::of([(0.75, 0.75), (0.2, 0.25)]).expect("both count");
        assert!((weighted.max_over_mean - 1.0).abs() < 1e-9);
        assert!((weighted.cv - (0.04_f64 / 2.0).sqrt()).abs() < 1e-9);
    }

    #[test]
    fn nobody_is_asked_for_anything_where_nobody_takes_traffic() {
        let drained = Instance::builder("a", "10.0.0.1:80").weight(0).build();
        assert_eq!(weight_shares(&[drained.expect("legal")]), [0.0]);
        assert!(weight_shares([]).is_empty());
    }
}

use std::fmt;

/// A part of all keys, as a whole number of equal pieces: positions of the key space, or keys of a sample.
///
/// # Examples
/// ```
/// use ringfence_core::KeyShare;
///
/// let quarter = KeyShare::new(1 << 62, 1 << 64);
/// assert_eq!((quarter.as_f64(), quarter.to_string().as_str()), (0.25, "25.00 %"));
/// assert_eq!(KeyShare::new(0, 0).as_f64(), 0.0);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyShare {
    part: u128,
    whole: u128,
}

impl KeyShare {
    /// `part` of `whole`; a part above the whole counts as all of it.
    #[must_use]
    pub fn new(part: u128, whole: u128) -> Self {
        Self {
            part: part.min(whole),
            whole,
        }
    }

    /// How many pieces.
    #[must_use]
    pub fn part(self) -> u128 {
        self.part
    }

    /// Of how many: 2^64 on a ring of 64 bits.
    #[must_use]
    pub fn whole(self) -> u128 {
        self.whole
    }

    /// The part as a number from 0 to 1; 0 of nothing.
    #[must_use]
    pub fn as_f64(self) -> f64 {
        if self.whole == 0 {
            return 0.0;
        }
        #[expect(
            clippy::cast_precision_loss,
            reason = "53 bits of a share are enough to show it"
        )]
        let share = self.part as f64 / self.whole as f64;
        share
    }

    /// Whether it is no key at all.
    #[must_use]
    pub fn is_zero(self) -> bool {
        self.part == 0
    }
}

impl fmt::Display for KeyShare {
    /// In per cent, with two digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2} %", self.as_f64() * 100.0)
    }
}

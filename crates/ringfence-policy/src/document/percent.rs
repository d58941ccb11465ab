use std::fmt;

use ringfence_core::ConfigError;
use serde::{Deserialize, Serialize, Serializer};

/// A share from 0 to 100 per cent, exact to a hundredth of a per cent; default 0.
///
/// ```
/// use ringfence_policy::Percent;
///
/// assert_eq!(Percent::try_from(12.5)?.to_string(), "12.5 %");
/// assert!(Percent::try_from(101.0).is_err());
/// assert!(Percent::try_from(0.001).is_err());
/// # Ok::<(), ringfence_core::ConfigError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "f64")]
pub struct Percent(u16);

impl Percent {
    /// Nobody.
    pub const NONE: Self = Self(0);
    /// Everybody.
    pub const ALL: Self = Self(10_000);

    /// In hundredths of a per cent: 0 to 10,000.
    #[must_use]
    pub fn hundredths(self) -> u16 {
        self.0
    }

    /// The first number of a share in 2^64 that lies outside.
    pub(crate) fn threshold(self) -> u128 {
        (u128::from(self.0) << 64) / 10_000
    }

    /// Whether a number that is spread evenly over all of 64 bits lies in the share. Whatever lies in a share lies in every
    /// larger one.
    #[must_use]
    pub fn has(self, number: u64) -> bool {
        u128::from(number) < self.threshold()
    }
}

impl Serialize for Percent {
    /// As people write it: 5 rather than 5.0.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match (self.0 / 100, self.0 % 100) {
            (whole, 0) => serializer.serialize_u16(whole),
            _ => serializer.serialize_f64(f64::from(*self)),
        }
    }
}

impl TryFrom<f64> for Percent {
    type Error = ConfigError;

    /// # Errors
    /// [`ConfigError`] below 0, above 100, or finer than a hundredth.
    fn try_from(percent: f64) -> Result<Self, Self::Error> {
        let percent = ConfigError::check("percent", percent, 0.0..=100.0)?;
        let hundredths = percent * 100.0;
        let whole = hundredths.round();
        // Decimal fractions are not exact in binary.
        if (hundredths - whole).abs() > 1e-6 {
            return Err(ConfigError::refused(
                "percent",
                percent.to_string(),
                "at most two decimals",
            ));
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it is between 0 and 10,000"
        )]
        Ok(Self(whole as u16))
    }
}

impl From<Percent> for f64 {
    fn from(percent: Percent) -> Self {
        Self::from(percent.0) / 100.0
    }
}

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} %", f64::from(*self))
    }
}

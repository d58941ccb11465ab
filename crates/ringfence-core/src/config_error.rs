use std::{fmt, ops::RangeInclusive};

/// A setting is out of its legal range.
///
/// # Examples
/// ```
/// use std::time::Duration;
/// use ringfence_core::ConfigError;
///
/// let (least, most) = (Duration::from_millis(1), Duration::from_secs(60));
/// assert_eq!(ConfigError::check("backoff", most, least..=most), Ok(most));
/// let error = ConfigError::check("backoff", Duration::ZERO, least..=most).unwrap_err();
/// assert_eq!(error.to_string(), "backoff is 0ns, allowed is 1ms..=60s");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field} is {value}, allowed is {allowed}")]
pub struct ConfigError {
    field: &'static str,
    value: String,
    allowed: String,
}

impl ConfigError {
    /// Gives the value back where it is in the range. Numbers and durations are shown as their `Debug` form has them.
    ///
    /// # Errors
    /// [`ConfigError`] where it is not.
    pub fn check<T: PartialOrd + fmt::Debug>(
        field: &'static str,
        value: T,
        allowed: RangeInclusive<T>,
    ) -> Result<T, Self> {
        if allowed.contains(&value) {
            return Ok(value);
        }
        Err(Self {
            field,
            value: format!("{value:?}"),
            allowed: format!("{allowed:?}"),
        })
    }

    /// Of a setting that does not go with others, or whose legal range is told in words.
    #[must_use]
    pub fn refused(field: &'static str, value: String, allowed: &str) -> Self {
        Self {
            field,
            value,
            allowed: allowed.to_owned(),
        }
    }

    /// The setting, for example `max_attempts`.
    #[must_use]
    pub fn field(&self) -> &str {
        self.field
    }

    /// What it was set to.
    #[must_use]
    pub fn value(&self) -> &str {
        &self.value
    }

    /// What it may be set to, for example `1..=8`.
    #[must_use]
    pub fn allowed(&self) -> &str {
        &self.allowed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_are_allowed_and_a_fault_names_them() {
        assert_eq!(ConfigError::check("x", 1, 1..=8), Ok(1));
        assert_eq!(ConfigError::check("x", 8, 1..=8), Ok(8));
        let error = ConfigError::check("x", 9_u8, 1..=8).expect_err("too much");
        assert_eq!(
            (error.field(), error.value(), error.allowed()),
            ("x", "9", "1..=8")
        );
    }
}

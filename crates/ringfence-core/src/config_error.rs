use std::fmt;

/// A setting is out of its legal range.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field} is {value}, allowed is {allowed}")]
pub struct ConfigError {
    field: &'static str,
    value: String,
    allowed: &'static str,
}

impl ConfigError {
    /// Says that `field` has a `value` outside of what is `allowed`, such as `1..=8`.
    pub fn out_of_range(
        field: &'static str,
        value: impl fmt::Display,
        allowed: &'static str,
    ) -> Self {
        Self {
            field,
            value: value.to_string(),
            allowed,
        }
    }

    /// The setting, for example `max_attempts`.
    #[must_use]
    pub fn field(&self) -> &str {
        self.field
    }
}

use std::{collections::BTreeMap, fmt, str::FromStr, sync::Arc};

use super::{InstanceError, error::has_control};
use crate::clip;

/// How a connection to the instance speaks: plain text or TLS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scheme {
    /// Plain text (default).
    #[default]
    Http,
    /// TLS.
    Https,
}

impl Scheme {
    /// `http` or `https`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Scheme {
    type Err = InstanceError;

    /// Accepts `http`, `grpc` and `h2c` as plain text, `https` and `grpcs` as TLS, in any case.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.to_ascii_lowercase().as_str() {
            "http" | "grpc" | "h2c" => Ok(Self::Http),
            "https" | "grpcs" => Ok(Self::Https),
            _ => Err(InstanceError::Scheme { text: clip(text) }),
        }
    }
}

/// Relative capacity of an instance; 100 is an ordinary one, 200 owns twice as many keys, 0 is drained (no new traffic).
///
/// # Examples
/// ```
/// use ringfence_core::Weight;
///
/// assert_eq!(Weight::try_new(200)?.get(), 200);
/// assert_eq!(Weight::default(), Weight::try_new(100)?);
/// assert!(Weight::ZERO.is_zero());
/// assert!(Weight::try_new(Weight::MAX.get() + 1).is_err());
/// # Ok::<(), ringfence_core::InstanceError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Weight(u32);

impl Weight {
    /// The weight of an instance that names none: 100.
    pub const DEFAULT: Self = Self(100);
    /// Drained: no points on the ring, no new traffic.
    pub const ZERO: Self = Self(0);
    /// The largest legal weight: 1,000,000, ten thousand ordinary instances.
    pub const MAX: Self = Self(1_000_000);

    /// Checks a weight: 0 to 1,000,000.
    ///
    /// # Errors
    /// [`InstanceError::Weight`] above [`Weight::MAX`].
    pub fn try_new(weight: u32) -> Result<Self, InstanceError> {
        if weight > Self::MAX.0 {
            return Err(InstanceError::Weight { weight });
        }
        Ok(Self(weight))
    }

    /// The number.
    #[must_use]
    pub fn get(self) -> u32 {
        self.0
    }

    /// Whether the instance is drained.
    #[must_use]
    pub fn is_zero(self) -> bool {
        self.0 == 0
    }
}

impl Default for Weight {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl fmt::Display for Weight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What the registry says of an instance's health. It is judged while walking the ring and never changes the ring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Health {
    /// May be used (default).
    #[default]
    Healthy,
    /// Skipped, unless the pool is in panic.
    Unhealthy,
}

/// Free-form tags of an instance, in name order.
///
/// Names are 1 to 256 bytes and values 1 to 4,096 bytes, both trimmed of white space at their ends and otherwise compared
/// exactly (case matters). An empty value means that the tag is absent. At most 256 tags.
///
/// # Examples
/// ```
/// use ringfence_core::Tags;
///
/// let tags = Tags::try_new([("lane", " blue "), ("env", "prod"), ("disk", "")])?;
/// assert_eq!(tags.get("lane"), Some("blue"));
/// assert_eq!(tags.iter().collect::<Vec<_>>(), [("env", "prod"), ("lane", "blue")]);
/// # Ok::<(), ringfence_core::InstanceError>(())
/// ```
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tags(Arc<[(Arc<str>, Arc<str>)]>);

impl Tags {
    /// Most tags of one instance.
    pub const MAX_TAGS: usize = 256;
    const MAX_NAME: usize = 256;
    const MAX_VALUE: usize = 4_096;

    /// Checks and sorts tags; of equal names the last one wins.
    ///
    /// # Errors
    /// [`InstanceError::Tag`] for an illegal name or value, [`InstanceError::TooManyTags`] above [`Tags::MAX_TAGS`].
    pub fn try_new<N, V>(tags: impl IntoIterator<Item = (N, V)>) -> Result<Self, InstanceError>
    where
        N: AsRef<str>,
        V: AsRef<str>,
    {
        let mut sorted = BTreeMap::new();
        for (name, value) in tags {
            let (name, value) = (name.as_ref().trim(), value.as_ref().trim());
            if name.is_empty()
                || name.len() > Self::MAX_NAME
                || value.len() > Self::MAX_VALUE
                || has_control(name)
                || has_control(value)
            {
                return Err(InstanceError::Tag { name: clip(name) });
            }
            if value.is_empty() {
                sorted.remove(name);
            } else {
                sorted.insert(Arc::<str>::from(name), Arc::<str>::from(value));
            }
            if sorted.len() > Self::MAX_TAGS {
                return Err(InstanceError::TooManyTags);
            }
        }
        Ok(Self(sorted.into_iter().collect()))
    }

    /// The value of a tag.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        let at = self.0.binary_search_by(|(n, _)| (**n).cmp(name)).ok()?;
        self.0.get(at).map(|(_, value)| &**value)
    }

    /// Names and values in name order.
    #[must_use]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (&**name, &**value))
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Tags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

use std::fmt;

use serde::{
    Deserialize, Deserializer, Serialize,
    de::{Error, IgnoredAny, MapAccess, Visitor},
};

use super::Percent;

/// How far a policy decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Mode {
    /// The kill switch: nothing is worked out, the baseline decides.
    Off,
    /// The baseline decides; what the policy would do is worked out and compared.
    Observe,
    /// The policy decides for this share of the keys (of the requests, where they have none), the baseline for the others.
    /// Whoever is in a share is in every larger one.
    EnforcePercent(Percent),
    /// The policy decides (default).
    #[default]
    Enforce,
}

impl Mode {
    /// The more careful of two modes; of two shares the smaller one.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let rank = |mode| match mode {
            Self::Off => (0, Percent::NONE),
            Self::Observe => (1, Percent::NONE),
            Self::EnforcePercent(percent) => (2, percent),
            Self::Enforce => (3, Percent::ALL),
        };
        if rank(other) < rank(self) {
            other
        } else {
            self
        }
    }

    const ENFORCE_PERCENT: &'static str = "enforce_percent";
    const NAMES: &'static [&'static str] = &["off", "observe", Self::ENFORCE_PERCENT, "enforce"];

    fn alone<E: Error>(name: &str) -> Result<Self, E> {
        match name {
            "off" => Ok(Self::Off),
            "observe" => Ok(Self::Observe),
            "enforce" => Ok(Self::Enforce),
            Self::ENFORCE_PERCENT => Err(E::custom(
                "`enforce_percent` needs a share: `mode: { enforce_percent: 20 }`",
            )),
            _ => Err(E::unknown_variant(name, Self::NAMES)),
        }
    }
}

// Not derived: a reader would look for the share that `enforce_percent` needs in the line behind it, and complain there.
impl<'de> Deserialize<'de> for Mode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ModeVisitor)
    }
}

struct ModeVisitor;

impl<'de> Visitor<'de> for ModeVisitor {
    type Value = Mode;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("`off`, `observe`, `enforce` or `{ enforce_percent: 20 }`")
    }

    /// `off` is one of the spellings of `false` in old YAML.
    fn visit_bool<E: Error>(self, value: bool) -> Result<Mode, E> {
        Mode::alone(if value { "on" } else { "off" })
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Mode, E> {
        Mode::alone(name)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Mode, A::Error> {
        let Some(name) = map.next_key::<String>()? else {
            return Err(A::Error::custom(format_args!(
                "expected {}",
                Expected(&self)
            )));
        };
        if name != Mode::ENFORCE_PERCENT {
            let known = Mode::alone::<A::Error>(&name);
            return known.and(Err(A::Error::custom(format_args!(
                "`{name}` stands alone: `mode: {name}`"
            ))));
        }
        let share = map.next_value()?;
        match map.next_entry::<IgnoredAny, IgnoredAny>()? {
            None => Ok(Mode::EnforcePercent(share)),
            Some(_) => Err(A::Error::custom(
                "`enforce_percent` stands alone: `mode: { enforce_percent: 20 }`",
            )),
        }
    }
}

/// A visitor's expectation as text.
struct Expected<'a>(&'a ModeVisitor);

impl fmt::Display for Expected<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(f)
    }
}

use serde::{Deserialize, Serialize};

use super::Percent;

/// How far a policy decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
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
}

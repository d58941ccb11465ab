//! The policy as data: what is written in a file, and what a program can build of the same types.

mod expected;
mod gray;
mod key;
mod locate;
mod matching;
mod mode;
mod percent;
mod pool;
mod read;
mod ring;
mod rule;
mod tenant;
#[cfg(test)]
mod tests;
mod version;
mod write;
mod zone;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub(crate) use self::read::{located, read, within};
pub use self::{
    gray::{GrayElse, GrayRelease},
    key::{KeyFrom, KeySource, Normaliser},
    matching::{GrpcMatch, RequestMatch, TextMatch},
    mode::Mode,
    percent::Percent,
    pool::{PoolStage, TagMatch},
    ring::{RingAlgorithm, RingHash, RingHostOrder, RingSettings, RingSlots, RingVariant},
    rule::{Limits, MissingKey, Rule, TagFromHeader},
    tenant::{TenantMode, Tenants},
    version::DocumentVersion,
    zone::ZonePolicy,
};

/// A routing policy as it is written down: rules, gray releases, tenants and zones.
///
/// It is read from YAML or JSON with [`parse`](Self::parse), or built in code: all fields are public and have defaults. What
/// is not set is not written, and unknown fields are refused. [`compile`](Self::compile) checks it and makes what requests
/// are decided by.
///
/// # Examples
/// ```
/// use ringfence_policy::{GrayRelease, KeySource, Percent, PolicyDocument, Rule, TagMatch};
///
/// let written = PolicyDocument::parse("
/// ringfence: 1
/// gray:
///   checkout-v2: { to: { version: gray }, percent: 5 }
/// rules:
///   - name: checkout
///     key: [{ header: x-user }]
///     gray: [checkout-v2]
/// ")?;
///
/// let built = PolicyDocument::default()
///     .with_gray(
///         "checkout-v2",
///         GrayRelease { percent: Percent::try_from(5.0)?, ..GrayRelease::to("version", "gray") },
///     )
///     .with_rule(Rule {
///         key: vec![KeySource::header("x-user")],
///         gray: vec!["checkout-v2".to_owned()],
///         ..Rule::named("checkout")
///     });
/// assert_eq!(written, built);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicyDocument {
    /// The version of the format.
    pub ringfence: DocumentVersion,
    /// How far the policy decides; default [`Mode::Enforce`]. A rule can have another mode, and the more careful of the two
    /// is in force.
    #[serde(default, skip_serializing_if = "is_default")]
    pub mode: Mode,
    /// How keys are mapped to instances, whatever the mode; default as the program was built.
    #[serde(default, skip_serializing_if = "is_default")]
    pub ring: Option<RingSettings>,
    /// Preference for instances near the client; default none.
    #[serde(default, skip_serializing_if = "is_default")]
    pub zone: ZonePolicy,
    /// Gray releases by name, at most 1,000; default none. A rule takes part in those that it names.
    #[serde(default, skip_serializing_if = "is_default")]
    pub gray: BTreeMap<String, GrayRelease>,
    /// How tenants are kept apart; default: all share all instances.
    #[serde(default, skip_serializing_if = "is_default")]
    pub tenants: Tenants,
    /// The rules, at most 10,000; the first that matches a request decides it. A request that none matches is decided as by a
    /// rule without settings.
    #[serde(default, skip_serializing_if = "is_default")]
    pub rules: Vec<Rule>,
}

impl PolicyDocument {
    /// Adds a gray release, or replaces the one of this name.
    #[must_use]
    pub fn with_gray(mut self, name: impl Into<String>, release: GrayRelease) -> Self {
        self.gray.insert(name.into(), release);
        self
    }

    /// Adds a rule behind the others.
    #[must_use]
    pub fn with_rule(mut self, rule: Rule) -> Self {
        self.rules.push(rule);
        self
    }

    /// Says how keys are mapped to instances.
    #[must_use]
    pub fn with_ring(mut self, ring: RingSettings) -> Self {
        self.ring = Some(ring);
        self
    }

    /// Says how a tenant is kept apart.
    #[must_use]
    pub fn with_tenant(mut self, name: impl Into<String>, mode: TenantMode) -> Self {
        self.tenants.named.insert(name.into(), mode);
        self
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Percent, TagMatch, is_default};

/// A gray release: some requests go to instances of their own, and nobody else does.
///
/// Whether a key is in depends on the key, the release's name and the percentage alone: it stays in while the percentage
/// rises. Requests without a key are never in by percentage.
///
/// ```
/// use ringfence_policy::{GrayRelease, Percent};
///
/// let release = GrayRelease {
///     percent: Percent::try_from(5.0)?,
///     tenants: vec!["acme".to_owned()],
///     ..GrayRelease::to("version", "gray")
/// };
/// # let _ = release;
/// # Ok::<(), ringfence_core::ConfigError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GrayRelease {
    /// What the instances of the release have, by attribute: at least one, not `tenant`. Exact values only.
    pub to: BTreeMap<String, TagMatch>,
    /// The attribute in `to` by which an instance is known to belong to the release. Needed where `to` names several.
    ///
    /// Requests outside of the release never go to instances that have its value; where it is a tag, not even to instances
    /// that have another value of it, unless a pool requires that value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marker: Option<String>,
    /// Share of the keys that are in; default 0.
    #[serde(default, skip_serializing_if = "is_default")]
    pub percent: Percent,
    /// Tenants that are in as a whole; default none.
    #[serde(default, skip_serializing_if = "is_default")]
    pub tenants: Vec<String>,
    /// Default true; false stops the release at once: nobody is in, and its instances get no requests of others either.
    #[serde(default = "enabled", skip_serializing_if = "is_enabled")]
    pub enabled: bool,
    /// What happens to a request that is in while no instance of the release is usable; default: it goes to the baseline.
    #[serde(default, rename = "else", skip_serializing_if = "is_default")]
    pub otherwise: GrayElse,
}

/// What becomes of a request of a gray release that has no usable instance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum GrayElse {
    /// It goes where requests outside of the release go (default).
    #[default]
    Baseline,
    /// It fails.
    Fail,
}

impl GrayRelease {
    /// A release to the instances with this value. Nobody is in yet.
    #[must_use]
    pub fn to(attribute: impl Into<String>, value: impl Into<String>) -> Self {
        Self {
            to: BTreeMap::from([(attribute.into(), TagMatch::is(value))]),
            marker: None,
            percent: Percent::NONE,
            tenants: Vec::new(),
            enabled: true,
            otherwise: GrayElse::default(),
        }
    }
}

fn enabled() -> bool {
    true
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands references")]
fn is_enabled(enabled: &bool) -> bool {
    *enabled
}

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::is_default;

/// Preference for instances in the client's own zone.
///
/// Where too little of the zone is usable, a share of the keys goes on to the other zones: the same keys for all clients of
/// the zone, and more of them as more is lost: the share is that of [`Spill`](ringfence_core::Spill).
///
/// ```
/// use ringfence_policy::{PolicyDocument, ZonePolicy};
///
/// let document = PolicyDocument {
///     zone: ZonePolicy { prefer_local: true, ..ZonePolicy::default() },
///     ..PolicyDocument::default()
/// };
/// assert_eq!(document.zone.overprovisioning_factor, 140);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ZonePolicy {
    /// The client's zone. Default `from-client`: the one that the program named (see
    /// [`PolicyContext::with_zone`](crate::PolicyContext::with_zone)). Without a known zone there is no preference.
    #[serde(skip_serializing_if = "is_from_client")]
    pub local: String,
    /// Whether every stage that does not speak of zones is tried in the own zone first; default false.
    #[serde(skip_serializing_if = "is_default")]
    pub prefer_local: bool,
    /// How much of the zone's load its usable instances can carry, in per cent of their weight: with 140, nothing spills
    /// while more than 72 % of the zone's weight is usable. Default 140, range 100..=10,000.
    #[serde(skip_serializing_if = "is_usual_factor")]
    pub overprovisioning_factor: u32,
    /// Thousandths of the keys of a zone's clients that go to other zones at all times, by zone; default 0, range
    /// 0..=1,000.
    #[serde(skip_serializing_if = "is_default")]
    pub spill_permille: BTreeMap<String, u16>,
}

impl ZonePolicy {
    /// Stands for the zone that the program named.
    pub const FROM_CLIENT: &'static str = "from-client";
    const FACTOR: u32 = 140;
}

impl Default for ZonePolicy {
    fn default() -> Self {
        Self {
            local: Self::FROM_CLIENT.to_owned(),
            prefer_local: false,
            overprovisioning_factor: Self::FACTOR,
            spill_permille: BTreeMap::new(),
        }
    }
}

fn is_from_client(zone: &str) -> bool {
    zone == ZonePolicy::FROM_CLIENT
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands references")]
fn is_usual_factor(factor: &u32) -> bool {
    *factor == ZonePolicy::FACTOR
}

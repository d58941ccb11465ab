use ringfence_core::Spill;

use super::refused;
use crate::{PolicyContext, PolicyError, ZonePolicy};

/// Where the client is, and how its zone is preferred.
#[derive(Debug)]
pub(crate) struct LocalZone {
    pub(crate) zone: Option<String>,
    pub(crate) region: Option<String>,
    pub(crate) prefer: bool,
    pub(crate) spill: Spill,
}

impl LocalZone {
    pub(super) fn of(policy: &ZonePolicy, context: &PolicyContext) -> Result<Self, PolicyError> {
        let zone = match policy.local.trim() {
            ZonePolicy::FROM_CLIENT => context.zone.clone(),
            "" => None,
            zone => Some(zone.to_owned()),
        };
        let spill = Spill::default()
            .with_overprovisioning_factor(policy.overprovisioning_factor)
            .map_err(refused("zone.overprovisioning_factor"))?;
        let mut permille = 0;
        for (name, spilled) in &policy.spill_permille {
            // Every client says what is wrong, not those of one zone only.
            let checked = spill
                .with_permille(*spilled)
                .map_err(refused(format!("zone.spill_permille.{name}")))?;
            if zone.as_deref() == Some(name.trim()) {
                permille = checked.permille();
            }
        }
        Ok(Self {
            zone,
            region: context.region.clone(),
            prefer: policy.prefer_local,
            spill: spill
                .with_permille(permille)
                .map_err(refused("zone.spill_permille"))?,
        })
    }
}

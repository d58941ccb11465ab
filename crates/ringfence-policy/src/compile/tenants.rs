use std::collections::HashMap;

use ringfence_core::name_seed;

use super::refused;
use crate::{PolicyError, TenantMode, Tenants};

/// Place among the kinds of plans that tenants need; 0 is that of requests without a tenant.
pub(crate) type PlanClass = usize;

/// How a tenant's requests are decided.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TenantClass {
    pub(crate) mode: TenantMode,
    pub(crate) plan: PlanClass,
}

/// What the pools of a class are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Isolation {
    Shared,
    Dedicated { strict: bool },
    OwnRing { seed: u64 },
    Shard { size: u32, strict: bool },
}

#[derive(Debug, Default)]
pub(crate) struct TenantTable {
    named: HashMap<Box<str>, TenantClass>,
    default: TenantClass,
    /// The kinds of plans.
    pub(crate) classes: Vec<Isolation>,
}

impl TenantTable {
    pub(super) fn of(tenants: &Tenants) -> Result<Self, PolicyError> {
        if tenants.default == TenantMode::OwnRing {
            let reason =
                "`own_ring` is for tenants that are named, because each needs memory; use `salted`";
            return Err(PolicyError::new("tenants.default", reason));
        }
        let mut classes = vec![Isolation::Shared];
        let mut class = |name: &str, mode: TenantMode| {
            let isolation = isolation(name, mode);
            if let Isolation::Shard { size, .. } = isolation {
                ringfence_core::Shard::new(size, 0)
                    .map_err(refused(format!("tenants.{name}.size")))?;
            }
            // Rings of their own are never equal, and there may be many.
            let known = match isolation {
                Isolation::OwnRing { .. } => None,
                _ => classes.iter().position(|known| *known == isolation),
            };
            let plan = known.unwrap_or_else(|| {
                classes.push(isolation);
                classes.len() - 1
            });
            Ok::<_, PolicyError>(TenantClass { mode, plan })
        };
        let default = class("default", tenants.default)?;
        let mut named = HashMap::with_capacity(tenants.named.len());
        for (name, mode) in &tenants.named {
            let trimmed = name.trim();
            if trimmed.is_empty() {
                return Err(PolicyError::new("tenants", "a tenant needs a name"));
            }
            if trimmed == "default" {
                let reason = "`default` stands for the tenants that are not named, so no tenant can have this name";
                return Err(PolicyError::new("tenants", reason));
            }
            if named
                .insert(trimmed.into(), class(trimmed, *mode)?)
                .is_some()
            {
                let reason = format!("there is another tenant `{trimmed}`");
                return Err(PolicyError::new("tenants", reason));
            }
        }
        Ok(Self {
            named,
            default,
            classes,
        })
    }

    pub(crate) fn class(&self, tenant: &str) -> TenantClass {
        self.named.get(tenant).copied().unwrap_or(self.default)
    }
}

fn isolation(name: &str, mode: TenantMode) -> Isolation {
    match mode {
        TenantMode::Shared | TenantMode::Salted => Isolation::Shared,
        TenantMode::Dedicated { strict } => Isolation::Dedicated { strict },
        TenantMode::OwnRing => Isolation::OwnRing {
            seed: name_seed(name),
        },
        TenantMode::ShuffleShard { size, strict } => Isolation::Shard { size, strict },
    }
}

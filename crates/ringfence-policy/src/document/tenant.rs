use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// How the requests of a tenant are kept apart from those of others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
#[non_exhaustive]
pub enum TenantMode {
    /// All instances that belong to no tenant, with the keys as they are (default).
    #[default]
    Shared,
    /// As [`Shared`](Self::Shared), but the tenant's name seeds the hash of its keys: equal keys of two tenants have
    /// different owners.
    Salted,
    /// As [`Shared`](Self::Shared), on a ring that the tenant's name seeds: which instances are neighbours on it is the
    /// tenant's own, so that an instance lost is shared out differently for each tenant. Only for tenants named in the
    /// document: each needs memory for its rings. Pools that depend on the request (`{ from: request }`) are left out for
    /// them, because a ring cannot be made while a request waits.
    OwnRing,
    /// Instances whose tag `tenant` has the tenant's name.
    Dedicated {
        /// Whether a request fails where none of them is usable; else it goes to the shared ones. In a document default
        /// true.
        strict: bool,
    },
    /// Some of the shared instances, chosen by the tenant's name: two tenants rarely have all in common.
    ShuffleShard {
        /// How many, or all where there are no more; range 1..=1,000,000.
        size: u32,
        /// Whether a request fails where none of them is usable, so that what a tenant does to its instances is not done to
        /// those of others; else it goes to the shared ones.
        strict: bool,
    },
}

/// How tenants are kept apart. Who the tenant of a request is, only its trusted tag `tenant` says.
///
/// In a document it is one mapping from names to modes, in which `default` stands for the tenants that are not named.
///
/// ```
/// use ringfence_policy::{PolicyDocument, TenantMode};
///
/// let document = PolicyDocument::parse("
/// ringfence: 1
/// tenants: { acme: { mode: dedicated }, default: { mode: shuffle_shard, size: 4 } }
/// ")?;
/// assert_eq!(document.tenants.named["acme"], TenantMode::Dedicated { strict: true });
/// assert!(matches!(document.tenants.default, TenantMode::ShuffleShard { size: 4, .. }));
/// # Ok::<(), ringfence_policy::PolicyError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    from = "BTreeMap<String, TenantMode>",
    into = "BTreeMap<String, TenantMode>"
)]
pub struct Tenants {
    /// Tenants that are not named; default [`TenantMode::Shared`]. Any mode but [`TenantMode::OwnRing`].
    pub default: TenantMode,
    /// Tenants by name, at most 100,000; default none.
    pub named: BTreeMap<String, TenantMode>,
}

impl From<BTreeMap<String, TenantMode>> for Tenants {
    fn from(mut named: BTreeMap<String, TenantMode>) -> Self {
        Self {
            default: named.remove("default").unwrap_or_default(),
            named,
        }
    }
}

impl From<Tenants> for BTreeMap<String, TenantMode> {
    fn from(tenants: Tenants) -> Self {
        let mut all = tenants.named;
        if tenants.default != TenantMode::default() {
            all.insert("default".to_owned(), tenants.default);
        }
        all
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    mode: Name,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    strict: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    size: Option<u32>,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Name {
    Shared,
    Salted,
    OwnRing,
    Dedicated,
    ShuffleShard,
}

impl TryFrom<Written> for TenantMode {
    type Error = &'static str;

    fn try_from(written: Written) -> Result<Self, Self::Error> {
        let Written { mode, strict, size } = written;
        if strict.is_some() && !matches!(mode, Name::Dedicated | Name::ShuffleShard) {
            return Err("`strict` belongs to modes `dedicated` and `shuffle_shard` only");
        }
        let strict = strict.unwrap_or(true);
        if size.is_some() && mode != Name::ShuffleShard {
            return Err("`size` belongs to mode `shuffle_shard` only");
        }
        Ok(match mode {
            Name::Shared => Self::Shared,
            Name::Salted => Self::Salted,
            Name::OwnRing => Self::OwnRing,
            Name::Dedicated => Self::Dedicated { strict },
            Name::ShuffleShard => Self::ShuffleShard {
                size: size.ok_or("mode `shuffle_shard` needs a `size`")?,
                strict,
            },
        })
    }
}

impl From<TenantMode> for Written {
    fn from(mode: TenantMode) -> Self {
        let (mode, strict, size) = match mode {
            TenantMode::Shared => (Name::Shared, None, None),
            TenantMode::Salted => (Name::Salted, None, None),
            TenantMode::OwnRing => (Name::OwnRing, None, None),
            TenantMode::Dedicated { strict } => (Name::Dedicated, Some(strict), None),
            TenantMode::ShuffleShard { size, strict } => {
                (Name::ShuffleShard, (!strict).then_some(false), Some(size))
            }
        };
        Self { mode, strict, size }
    }
}

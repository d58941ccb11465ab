use std::collections::HashSet;

use ringfence_core::{Attribute, Match, did_you_mean};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::{GrayElse, GrayRelease, Percent, PolicyDocument, PolicyError, TagMatch};

/// `gray` in ASCII, the seed of the hash that makes a release's seed of its name.
const GRAY_SEED: u64 = 0x6772_6179;

/// A checked [`GrayRelease`].
#[derive(Debug)]
pub(crate) struct Release {
    pub(crate) name: Box<str>,
    pub(crate) enabled: bool,
    percent: Percent,
    seed: u64,
    tenants: HashSet<Box<str>>,
    /// What its instances have.
    pub(crate) to: Vec<(Attribute, Match)>,
    /// By what they are known.
    pub(crate) marker: Attribute,
    pub(crate) marker_values: Vec<String>,
    pub(crate) otherwise: GrayElse,
}

impl Release {
    pub(crate) fn has_tenant(&self, tenant: &str) -> bool {
        self.tenants.contains(tenant)
    }

    /// Whether the hash of the key, seeded by the release's name, lies in the share. It has nothing to do with the hash that
    /// chooses instances, nor with that of other releases.
    pub(crate) fn has_key(&self, key: &[u8]) -> bool {
        self.percent.has(xxh3_64_with_seed(key, self.seed))
    }
}

pub(super) fn compile(document: &PolicyDocument) -> Result<Box<[Release]>, PolicyError> {
    document
        .gray
        .iter()
        .map(|(name, release)| release_of(name, release))
        .collect()
}

fn release_of(name: &str, release: &GrayRelease) -> Result<Release, PolicyError> {
    let path = format!("gray.{name}");
    let mut names = release.to.keys();
    let marker = match (&release.marker, names.next(), names.next()) {
        (_, None, _) => {
            let reason = "a release needs what its instances have";
            return Err(PolicyError::new(format!("{path}.to"), reason));
        }
        (Some(marker), Some(_), _) => marker,
        (None, Some(only), None) => only,
        (None, Some(_), Some(_)) => {
            let reason = "`to` names several attributes; `marker` must say by which of them the release is known";
            return Err(PolicyError::new(path, reason));
        }
    };
    let mut to = Vec::with_capacity(release.to.len());
    let mut marker_values = Vec::new();
    for (attribute_name, matching) in &release.to {
        let path = format!("{path}.to.{attribute_name}");
        let TagMatch::OneOf(values) = matching else {
            return Err(PolicyError::new(path, "only values are allowed here"));
        };
        if values.is_empty() || values.iter().any(|value| value.trim().is_empty()) {
            return Err(PolicyError::new(path, "a value is missing"));
        }
        let attribute = Attribute::named(attribute_name);
        if attribute == Attribute::tenant() {
            return Err(PolicyError::new(
                path,
                "instances of a tenant cannot be a release",
            ));
        }
        if attribute_name == marker {
            marker_values = values.iter().map(|value| value.trim().to_owned()).collect();
        }
        to.push((attribute, Match::one_of(values)));
    }
    if marker_values.is_empty() {
        let known = release.to.keys().map(String::as_str);
        let reason = format!("`{marker}` is not in `to`{}", did_you_mean(marker, known));
        return Err(PolicyError::new(format!("{path}.marker"), reason));
    }
    Ok(Release {
        name: name.into(),
        enabled: release.enabled,
        percent: release.percent,
        seed: xxh3_64_with_seed(name.as_bytes(), GRAY_SEED),
        tenants: release
            .tenants
            .iter()
            .map(|tenant| tenant.trim().into())
            .collect(),
        to,
        marker: Attribute::named(marker),
        marker_values,
        otherwise: release.otherwise,
    })
}

use std::{collections::BTreeSet, sync::Arc};

use super::HashAlgorithm;
use crate::{ConfigError, InstanceId};

/// Settings of jump consistent hash: which instance each bucket is.
///
/// A key jumps to a bucket; its instance owns the key where it is in the pool, takes traffic, and accepts the key: with the chance of its
/// weight in the heaviest one's. Keys of an instance that is gone or does not accept go by weighted rendezvous over all, so that shares are
/// exactly as the weights. A bucket more at the end of the list takes `1/n` of the keys, and none move between others; one that
/// is gone from the pool but still in the list loses its own keys and no others. Any other change of the list, and a
/// change of the heaviest weight, moves many: a third or a half where one of equal ones doubles its weight. An instance that is in no bucket gets keys of buckets whose instance is gone, and those that are not accepted; a lookup takes about `ln(n)` steps.
///
/// The walk: the owner, then the others in the order of rendezvous.
///
/// Lamping, Veach, "A Fast, Minimal Memory, Consistent Hash Algorithm", 2014.
///
/// # Examples
/// ```
/// use ringfence_core::{InstanceId, Jump};
///
/// let ids = ["order-0", "order-1"].map(InstanceId::try_new).into_iter().collect::<Result<Vec<_>, _>>()?;
/// let jump = Jump::default().with_buckets(ids)?;
/// assert_eq!(jump.buckets().map(<[_]>::len), Some(2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Jump {
    buckets: Option<Arc<[InstanceId]>>,
}

impl Jump {
    /// Most buckets.
    pub const MAX_BUCKETS: usize = 1_000_000;

    /// The instances in the order of their buckets, those that are gone for good included; at most 1,000,000, each once. By default
    /// they are the pool's members in the order given, which is right only where that order never changes but at its end.
    ///
    /// # Errors
    /// [`ConfigError`] of none or too many, and of an instance that is named twice.
    pub fn with_buckets(
        mut self,
        buckets: impl IntoIterator<Item = InstanceId>,
    ) -> Result<Self, ConfigError> {
        let buckets: Vec<InstanceId> = buckets.into_iter().take(Self::MAX_BUCKETS + 1).collect();
        ConfigError::check("buckets", buckets.len(), 1..=Self::MAX_BUCKETS)?;
        let mut seen = BTreeSet::new();
        if let Some(twice) = buckets.iter().find(|id| !seen.insert(*id)) {
            return Err(ConfigError::refused(
                "buckets",
                twice.to_string(),
                "each instance once",
            ));
        }
        self.buckets = Some(buckets.into());
        Ok(self)
    }

    /// The instances in the order of their buckets; `None` where the order given decides.
    #[must_use]
    pub fn buckets(&self) -> Option<&[InstanceId]> {
        self.buckets.as_deref()
    }
}

impl From<Jump> for HashAlgorithm {
    fn from(jump: Jump) -> Self {
        Self::Jump(jump)
    }
}

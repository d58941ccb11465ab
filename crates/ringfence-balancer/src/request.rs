use std::fmt;

use ringfence_core::{PlanId, RequestTags, TagValues};

use crate::MissingKey;

/// What a pick needs to know about a request.
///
/// ```
/// use ringfence_balancer::PickRequest;
///
/// let request = PickRequest::new().with_key(b"tenant-42");
/// assert_eq!(request.key(), Some(&b"tenant-42"[..]));
/// assert_eq!(PickRequest::new().with_key("").key(), None, "an empty key is none");
/// ```
#[derive(Clone, Copy, Default)]
pub struct PickRequest<'a> {
    key: Option<&'a [u8]>,
    salt: u64,
    plan: PlanId,
    tags: Tags<'a>,
    max_candidates: Option<usize>,
    missing_key: Option<MissingKey>,
}

impl<'a> PickRequest<'a> {
    /// A request without key and tags.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The bytes that are hashed. Equal bytes go to the same instance. Without a key, with an empty
    /// one (which counts as absent) or one longer than
    /// [`max_key_len`](crate::BalancerConfig::max_key_len),
    /// [`missing_key`](crate::BalancerConfig::missing_key) decides.
    #[must_use]
    pub fn with_key(mut self, key: &'a (impl AsRef<[u8]> + ?Sized)) -> Self {
        self.key = Some(key.as_ref()).filter(|key| !key.is_empty());
        self
    }

    /// What the request asks of the pool; without tags, the plan's default pool is used.
    #[must_use]
    pub fn with_tags(mut self, tags: &'a RequestTags) -> Self {
        self.tags = Tags::Made(tags);
        self
    }

    /// [`with_tags`](Self::with_tags) from where they are, without making [`RequestTags`] of them.
    #[must_use]
    pub fn with_tag_values(mut self, tags: &'a (dyn TagValues + Sync)) -> Self {
        self.tags = Tags::Elsewhere(tags);
        self
    }

    /// The plan of the [policy](crate::CompiledPolicy) that finds the pool; without it, that of the settings'
    /// [`routing`](crate::BalancerConfig::routing). Where the policy has no such plan, there is no pool for the request.
    #[must_use]
    pub fn with_plan(mut self, plan: PlanId) -> Self {
        self.plan = plan;
        self
    }

    /// Makes where the key lies on the ring independent of where it lies with another salt, as for another tenant; default 0,
    /// any number. It has no influence on which keys spill over to another zone.
    #[must_use]
    pub fn with_salt(mut self, salt: u64) -> Self {
        self.salt = salt;
        self
    }

    /// At most this many candidates, where fewer than
    /// [`max_attempts`](crate::BalancerConfig::max_attempts) will do. Any number is legal: more than
    /// that changes nothing, and there is always one, also at zero.
    #[must_use]
    pub fn with_max_candidates(mut self, candidates: usize) -> Self {
        self.max_candidates = Some(candidates.max(1));
        self
    }

    /// What happens without a key, in place of what the
    /// [settings](crate::BalancerConfig::missing_key) say.
    #[must_use]
    pub fn with_missing_key(mut self, missing_key: MissingKey) -> Self {
        self.missing_key = Some(missing_key);
        self
    }

    /// The bytes that are hashed, never empty.
    #[must_use]
    pub fn key(&self) -> Option<&'a [u8]> {
        self.key
    }

    /// What makes the key's place independent of others; 0 is nothing.
    #[must_use]
    pub fn salt(&self) -> u64 {
        self.salt
    }

    /// The plan that finds the pool.
    #[must_use]
    pub fn plan(&self) -> PlanId {
        self.plan
    }

    pub(crate) fn tags(&self) -> Tags<'a> {
        self.tags
    }

    pub(crate) fn missing_key(&self) -> Option<MissingKey> {
        self.missing_key
    }

    pub(crate) fn candidates(&self, max_attempts: usize) -> usize {
        self.max_candidates
            .map_or(max_attempts, |candidates| candidates.min(max_attempts))
    }
}

/// What a request asks of its pool, from where it is.
#[derive(Clone, Copy, Default)]
pub(crate) enum Tags<'a> {
    #[default]
    None,
    Made(&'a RequestTags),
    Elsewhere(&'a (dyn TagValues + Sync)),
}

impl fmt::Debug for PickRequest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("PickRequest");
        shown
            .field("key", &self.key)
            .field("salt", &self.salt)
            .field("plan", &self.plan);
        match self.tags {
            Tags::None => {}
            Tags::Made(tags) => {
                shown.field("tags", tags);
            }
            Tags::Elsewhere(tags) => {
                let mut made = RequestTags::new();
                tags.each(&mut |attribute, value| {
                    made = std::mem::take(&mut made).with(attribute.clone(), value);
                });
                shown.field("tags", &made);
            }
        }
        shown
            .field("max_candidates", &self.max_candidates)
            .field("missing_key", &self.missing_key)
            .finish()
    }
}

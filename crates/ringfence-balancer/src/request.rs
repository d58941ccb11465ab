use ringfence_core::RequestTags;

/// What a pick needs to know about a request.
///
/// ```
/// use ringfence_balancer::PickRequest;
///
/// let request = PickRequest::new().with_key(b"tenant-42");
/// assert_eq!(request.key(), Some(&b"tenant-42"[..]));
/// assert_eq!(PickRequest::new().with_key("").key(), None, "an empty key is none");
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct PickRequest<'a> {
    key: Option<&'a [u8]>,
    tags: Option<&'a RequestTags>,
    max_candidates: Option<usize>,
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

    /// What the request asks of the pool; without tags, the routing's default pool is used.
    #[must_use]
    pub fn with_tags(mut self, tags: &'a RequestTags) -> Self {
        self.tags = Some(tags);
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

    /// The bytes that are hashed, never empty.
    #[must_use]
    pub fn key(&self) -> Option<&'a [u8]> {
        self.key
    }

    /// What the request asks of the pool.
    #[must_use]
    pub fn tags(&self) -> Option<&'a RequestTags> {
        self.tags
    }

    pub(crate) fn candidates(&self, max_attempts: usize) -> usize {
        self.max_candidates
            .map_or(max_attempts, |candidates| candidates.min(max_attempts))
    }
}

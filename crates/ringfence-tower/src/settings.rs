//! What was set on the layer.

use std::fmt;
use std::sync::Arc;

use ringfence_balancer::{AttachmentKey, Balancer};

use crate::classify::{Classify, DefaultClassifier};
use crate::key::KeySource;
use crate::retry::RetryPolicy;
use crate::transport::{Authority, Origin};

const DEFAULT_REPLAY_LIMIT: usize = 64 * 1_024;

/// What all clones of a service share.
#[derive(Clone)]
pub(crate) struct Settings {
    pub(crate) balancer: Balancer,
    /// The service as it is named in errors.
    pub(crate) service: Arc<str>,
    pub(crate) keys: Vec<KeySource>,
    pub(crate) retry: RetryPolicy,
    pub(crate) replay_limit: usize,
    pub(crate) authority: Authority,
    pub(crate) classifier: Arc<dyn Classify>,
    pub(crate) origins: AttachmentKey<Result<Origin, String>>,
}

impl Settings {
    pub(crate) fn new(balancer: Balancer) -> Self {
        Self {
            service: balancer.service().to_string().into(),
            balancer,
            keys: Vec::new(),
            retry: RetryPolicy::default(),
            replay_limit: DEFAULT_REPLAY_LIMIT,
            authority: Authority::Instance,
            classifier: Arc::new(DefaultClassifier),
            origins: AttachmentKey::unique(),
        }
    }

    /// The most instances that a request may go to.
    pub(crate) fn max_candidates(&self) -> usize {
        if self.retry.may_hop() { usize::MAX } else { 1 }
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("balancer", &self.balancer)
            .field("keys", &self.keys)
            .field("retry", &self.retry)
            .field("replay_limit", &self.replay_limit)
            .field("authority", &self.authority)
            .field("classifier", &self.classifier)
            .finish_non_exhaustive()
    }
}

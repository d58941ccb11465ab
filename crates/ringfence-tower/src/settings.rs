//! What was set on the layer.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use http::HeaderValue;
use ringfence_balancer::Balancer;
use ringfence_policy::{CompiledPolicy, Mode};

use crate::baseline::{Baseline, Kind};
use crate::classify::Classifier;
use crate::key::KeySource;
use crate::propagate::Propagator;
use crate::retry::RetryPolicy;
use crate::transport::{Authority, Transport};

const DEFAULT_REPLAY_LIMIT: usize = 64 * 1_024;

/// What all clones of a service share.
#[derive(Clone)]
pub(crate) struct Settings {
    pub(crate) balancer: Balancer,
    /// The service as it is named in errors.
    pub(crate) service: Arc<str>,
    pub(crate) keys: Vec<KeySource>,
    pub(crate) baseline: Baseline,
    pub(crate) retry: RetryPolicy,
    pub(crate) replay_limit: usize,
    pub(crate) authority: Authority,
    pub(crate) classifier: Classifier,
    pub(crate) propagator: Propagator,
    /// Whether traces may have keys in them.
    pub(crate) traces_keys: bool,
    /// What `Host` says, where that is not the address.
    pub(crate) host: Option<HeaderValue>,
    /// Whether the log knows what does not go together.
    pub(crate) findings_told: Arc<AtomicBool>,
    /// Fingerprint of the policy that [`tell_of_unused_keys`](Self::tell_of_unused_keys) looked at last.
    looked_at: Arc<AtomicU64>,
}

impl Settings {
    pub(crate) fn new(balancer: Balancer) -> Self {
        Self {
            service: balancer.service().to_string().into(),
            balancer,
            keys: Vec::new(),
            baseline: Baseline::default(),
            retry: RetryPolicy::default(),
            replay_limit: DEFAULT_REPLAY_LIMIT,
            authority: Authority::Instance,
            classifier: Classifier::default(),
            propagator: Propagator::default(),
            traces_keys: false,
            host: None,
            findings_told: Arc::default(),
            looked_at: Arc::default(),
        }
    }

    /// What takes requests as they are, where the baseline wants that.
    pub(crate) fn untouched<B, S: Transport<B>>(&self, transport: &S) -> Option<S::Service> {
        let is_untouched = self.baseline.kind == Kind::Untouched;
        is_untouched.then(|| transport.untouched()).flatten()
    }

    /// Warns once for each policy under which the layer's own key sources do nothing, although the policy names none in their
    /// place: requests that had a key before it have none then.
    pub(crate) fn tell_of_unused_keys(&self, policy: &CompiledPolicy) {
        if self.keys.iter().all(KeySource::is_extension) {
            return;
        }
        let fingerprint = policy.fingerprint();
        if self.looked_at.load(Ordering::Relaxed) == fingerprint
            || self.looked_at.swap(fingerprint, Ordering::Relaxed) == fingerprint
        {
            return;
        }
        let document = policy.document();
        if document.mode != Mode::Off && document.rules.iter().all(|rule| rule.key.is_empty()) {
            tracing::warn!(
                service = &*self.service,
                "the layer's `with_key` has no effect on requests that the policy decides, and no rule of the policy has a \
                 `key`: their key is the extension `RoutingKey` alone"
            );
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
            .field("baseline", &self.baseline)
            .field("retry", &self.retry)
            .field("replay_limit", &self.replay_limit)
            .field("authority", &self.authority)
            .field("classifier", &self.classifier)
            .field("propagator", &self.propagator)
            .field("traces_keys", &self.traces_keys)
            .finish_non_exhaustive()
    }
}

//! The layer, and the methods that set it up.

use std::fmt;
use std::sync::Arc;

use http::HeaderMap;
use ringfence_balancer::Balancer;
use tower_layer::Layer;

use crate::baseline::Baseline;
use crate::classify::{Classifier, Classify};
use crate::key::KeySource;
use crate::propagate::Propagator;
use crate::retry::RetryPolicy;
use crate::service::Ringfence;
use crate::settings::Settings;
use crate::transport::Authority;

/// Sends each request to the instance that owns its key, and to the next ones if that one cannot.
///
/// ```
/// use ringfence_tower::{KeySource, RingfenceLayer};
/// # use http::HeaderName;
/// # fn layer(balancer: ringfence_balancer::Balancer) -> RingfenceLayer {
///
/// RingfenceLayer::new(balancer)
///     .with_key(KeySource::extension())
///     .with_key(KeySource::header(HeaderName::from_static("x-tenant")))
/// # }
/// ```
#[derive(Clone)]
pub struct RingfenceLayer {
    settings: Arc<Settings>,
}

impl RingfenceLayer {
    /// A layer that asks this balancer. Until a key source is named, the key is the request extension
    /// [`RoutingKey`](crate::RoutingKey).
    #[must_use]
    pub fn new(balancer: Balancer) -> Self {
        Self {
            settings: Arc::new(Settings::new(balancer)),
        }
    }

    /// Adds a source of keys, in place of the default. Sources are asked in the order in which they were added; the first that
    /// yields a key wins.
    ///
    /// Requests that a policy decides take their keys from its rules instead. A policy whose rules name no key source is warned
    /// of in the log, once.
    #[must_use]
    pub fn with_key(self, source: KeySource) -> Self {
        self.set(|settings| settings.keys.push(source))
    }

    /// Who decides the requests that the policy leaves alone; default [`Baseline::routing`].
    #[must_use]
    pub fn with_baseline(self, baseline: Baseline) -> Self {
        self.set(|settings| settings.baseline = baseline)
    }

    /// What may be sent again; default [`RetryPolicy::default`].
    #[must_use]
    pub fn with_retry(self, policy: RetryPolicy) -> Self {
        self.set(|settings| settings.retry = policy)
    }

    /// How much of a request body is kept for a further attempt, in bytes; default 64 KiB. A
    /// piece of a streamed body counts at least 64 bytes. A longer body is streamed on without
    /// being kept, and its request hops no more; with zero only requests without a body hop.
    #[must_use]
    pub fn with_replay_limit(self, bytes: usize) -> Self {
        self.set(|settings| settings.replay_limit = bytes)
    }

    /// What requests over a shared HTTP client say in `Host`; default [`Authority::Instance`].
    ///
    /// Such a client takes the address to dial from the URI, so over HTTP/2 the `:authority` is
    /// always the instance's, and a `Host` field is removed. Another name than the instance's is
    /// meant for clients that speak HTTP/1 only.
    /// `TonicConnector` has a setting of its own.
    #[must_use]
    pub fn with_authority(self, authority: Authority) -> Self {
        self.set(|settings| {
            settings.host = authority.host(settings.balancer.service().name());
            settings.authority = authority;
        })
    }

    /// How errors and responses are judged; the default knows hyper, h2, tonic and gRPC.
    #[must_use]
    pub fn with_classifier(self, classifier: impl Classify) -> Self {
        self.set(|settings| settings.classifier = Classifier::new(classifier))
    }

    /// Writes the context of the caller's trace into the headers of each attempt, so that the spans of the server belong to it. It is
    /// called within the span of the call, so `tracing::Span::current()` is that; default nothing is written.
    ///
    /// ```
    /// use http::HeaderValue;
    /// # fn layer(layer: ringfence_tower::RingfenceLayer) -> ringfence_tower::RingfenceLayer {
    ///
    /// // With OpenTelemetry: a propagator that injects the context of `tracing::Span::current()`.
    /// layer.with_propagator(|headers| {
    ///     let span = tracing::Span::current().id().map_or(0, |id| id.into_u64());
    ///     headers.insert("x-span", HeaderValue::from(span));
    /// })
    /// # }
    /// ```
    #[must_use]
    pub fn with_propagator(self, inject: impl Fn(&mut HeaderMap) + Send + Sync + 'static) -> Self {
        self.set(|settings| settings.propagator = Propagator::new(inject))
    }

    /// Whether the spans of calls have the key in them, as `ringfence.key`; default no, since a key may well be a secret or the name of
    /// a person.
    #[must_use]
    pub fn with_traced_keys(self, traced: bool) -> Self {
        self.set(|settings| settings.traces_keys = traced)
    }

    /// Wraps a transport, as [`Layer::layer`] does without having to import the trait: a
    /// `TonicConnector`, or an HTTP client that is `Clone`. A [`Transport`](crate::Transport) says
    /// what fits; a client that is bound to one address, such as a tonic `Channel`, does not.
    #[must_use]
    pub fn wrap<S>(&self, transport: S) -> Ringfence<S> {
        self.settings.tell_of_findings();
        Ringfence::new(transport, Arc::clone(&self.settings))
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    fn set(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        let settings = Arc::make_mut(&mut self.settings);
        change(settings);
        settings.findings_told = Arc::default();
        self
    }
}

impl<S> Layer<S> for RingfenceLayer {
    type Service = Ringfence<S>;

    fn layer(&self, inner: S) -> Ringfence<S> {
        self.wrap(inner)
    }
}

impl fmt::Debug for RingfenceLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RingfenceLayer")
            .field("settings", &self.settings)
            .finish()
    }
}

//! One published state, for the time of one decision.

use std::{
    fmt,
    sync::{Arc, atomic::Ordering},
};

use ringfence_core::{RingConfig, View};
use ringfence_policy::{Evaluation, ExplainLimits, Explanation, RequestHead};

use crate::{
    CompiledPolicy, Decision, Owner, PickError, PickRequest, Suggestion, pick,
    published::Published, shared::Shared,
};

/// A published state: a policy and the view that was made with it. [`Balancer::read`](crate::Balancer::read) lends it.
///
/// # Examples
/// ```
/// use ringfence_balancer::Balancer;
/// use ringfence_core::Instance;
/// use ringfence_discovery::StaticDiscovery;
/// use ringfence_policy::{PolicyContext, PolicyDocument, RequestHead};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let text = "{ ringfence: 1, rules: [{ name: carts, key: [{ header: x-user }] }] }";
/// let policy = PolicyDocument::parse_and_compile(text, &PolicyContext::new())?;
/// let instances = [Instance::builder("cart-1", "10.0.0.1:80").build()?];
/// let source = StaticDiscovery::new().with_service("cart", instances);
/// let balancer = Balancer::builder(source, "cart").with_policy(policy).build()?;
/// balancer.ready().await?;
///
/// let request = http::Request::get("/cart").header("x-user", "alice").body(())?;
/// let decision = balancer.read(|current| {
///     let evaluation = current.evaluate(&RequestHead::of(&request))?;
///     Some(current.pick_by(&evaluation, usize::MAX))
/// })?;
/// let decision = decision.expect("the policy is on")?;
/// assert_eq!(decision.instance().id().as_str(), "cart-1");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy)]
pub struct Current<'a> {
    shared: &'a Shared,
    published: &'a Published,
}

impl<'a> Current<'a> {
    pub(crate) fn new(shared: &'a Shared, published: &'a Published) -> Self {
        Self { shared, published }
    }

    /// The view.
    #[must_use]
    pub fn view(&self) -> &'a Arc<View> {
        &self.published.view
    }

    /// The policy; `None` where there is none or it is [switched off](crate::Balancer::switch_policy).
    #[must_use]
    pub fn policy(&self) -> Option<&'a CompiledPolicy> {
        let policy = self.published.policy.as_deref()?;
        (!self.shared.policy_off.load(Ordering::Relaxed)).then_some(policy)
    }

    /// What the policy says of a request; `None` where there is none or it is off.
    #[must_use]
    pub fn evaluate(&self, head: &RequestHead<'a>) -> Option<Evaluation<'a>> {
        self.policy()?.evaluate(head, fastrand::u64(..))
    }

    /// Chooses the candidates of a request, as [`Balancer::pick`](crate::Balancer::pick).
    ///
    /// # Errors
    /// As there.
    pub fn pick(&self, request: &PickRequest<'_>) -> Result<Decision, PickError> {
        pick::pick(self.shared, self.published, request)
    }

    /// The owner of a request's key alone, counted as a pick. `None` where more than that is to be heeded: a plan, tags, limits of
    /// requests, instances that are ejected or on trial, further stages of a route, another algorithm than the own ring; or where there is
    /// nothing to be found, and [`pick`](Self::pick) says why.
    #[inline]
    #[must_use]
    pub fn owner(&self, request: &PickRequest<'_>) -> Option<Owner> {
        pick::alone(self.shared, self.published, request)
    }

    /// Chooses the candidates of a request as its evaluation by this state's policy says: no more than `max_candidates`, and
    /// no more than its rule allows.
    ///
    /// # Errors
    /// As [`pick`](Self::pick).
    pub fn pick_by(
        &self,
        evaluation: &Evaluation<'_>,
        max_candidates: usize,
    ) -> Result<Decision, PickError> {
        if evaluation.key.too_long > 0 {
            self.shared.counters.long_keys.increment();
        }
        self.shared
            .audit
            .record(evaluation.audit(self.shared.service.name()));
        let lints = &self.published.lints;
        lints.observe(&self.shared.service, evaluation);
        self.pick(&request_by(evaluation, max_candidates))
    }

    /// Where the policy would send a request that it does not decide. It counts nowhere.
    #[must_use]
    pub fn suggest(&self, evaluation: &Evaluation<'_>) -> Suggestion {
        let lints = &self.published.lints;
        lints.observe(&self.shared.service, evaluation);
        let config = &self.shared.config;
        let key = evaluation.key_bytes();
        let key = key.filter(|key| key.len() <= config.max_key_len());
        let policy = self.published.policy.as_ref();
        // It tells keys apart, for which the few bits of some algorithms would not do.
        let distinct = RingConfig::default();
        Suggestion {
            key: key.map(|key| distinct.hash_key_salted(key, evaluation.salt).hash()),
            view: Arc::clone(self.view()),
            policy: policy.map_or(0, |policy| policy.fingerprint()),
            instance: key.and_then(|key| {
                pick::owner(
                    self.published,
                    evaluation.plan,
                    &evaluation.tags,
                    key,
                    evaluation.salt,
                )
            }),
        }
    }

    /// See [`Balancer::explain`](crate::Balancer::explain).
    #[must_use]
    pub fn explain(&self, head: &RequestHead<'_>) -> Explanation {
        let config = &self.shared.config;
        let limits = ExplainLimits {
            attempts: config.max_attempts(),
            max_key_len: config.max_key_len(),
            missing_key: config.missing_key(),
        };
        let draw = fastrand::u64(..);
        let by_policy = self
            .policy()
            .and_then(|policy| policy.explain_within(head, draw, self.view(), limits));
        by_policy.unwrap_or_else(|| {
            let told = Explanation::without_policy(head, draw, self.view(), limits);
            match &self.published.policy {
                Some(policy) => told.with_policy_off(policy),
                None => told,
            }
        })
    }
}

/// What an evaluation asks for.
fn request_by<'e>(evaluation: &'e Evaluation<'_>, max_candidates: usize) -> PickRequest<'e> {
    let allowed = evaluation.max_attempts.map_or(usize::MAX, |attempts| {
        usize::try_from(attempts).unwrap_or(usize::MAX)
    });
    let request = PickRequest::new()
        .with_plan(evaluation.plan)
        .with_salt(evaluation.salt)
        .with_tag_values(&evaluation.tags)
        .with_max_candidates(max_candidates.min(allowed));
    let request = match evaluation.missing_key {
        Some(missing_key) => request.with_missing_key(missing_key),
        None => request,
    };
    match evaluation.key_bytes() {
        Some(key) => request.with_key(key),
        None => request,
    }
}

impl fmt::Debug for Current<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Current")
            .field("view", &self.published.view)
            .field("policy", &self.published.policy)
            .finish_non_exhaustive()
    }
}

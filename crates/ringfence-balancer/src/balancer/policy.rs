//! The policy of a running balancer: setting it, and seeing what it does.

use std::sync::{Arc, atomic::Ordering};

use ringfence_policy::{Explanation, ObserveReport, RequestHead};

use crate::{Balancer, CompiledPolicy, PickError, Suggestion};

impl Balancer {
    /// Replaces the policy while requests flow. It returns at once; soon after, requests see the new policy together with a
    /// view that was made for it, of a higher epoch. Of several set in a row, some may never be in force, but the last one is.
    ///
    /// # Examples
    /// ```
    /// use ringfence_balancer::{Balancer, CompiledPolicy, PickRequest};
    /// use ringfence_core::{Attribute, Instance, Match, PlanId, RoutePlan, RoutePlans, StageTemplate};
    /// use ringfence_discovery::StaticDiscovery;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let instances = [
    ///     Instance::builder("stable-1", "10.0.0.1:80").build()?,
    ///     Instance::builder("gray-1", "10.0.0.2:80").version("gray").build()?,
    /// ];
    /// let source = StaticDiscovery::new().with_service("order", instances);
    /// let balancer = Balancer::builder(source, "order").build()?;
    /// balancer.ready().await?;
    ///
    /// let gray = StageTemplate::any().and(Attribute::Version, Match::is("gray"));
    /// let plan = RoutePlan::of_stages([gray, StageTemplate::untagged()])?;
    /// balancer.set_policy(CompiledPolicy::of_plans(RoutePlans::new([plan])));
    /// while balancer.policy().is_none() {
    ///     tokio::task::yield_now().await;
    /// }
    /// let request = PickRequest::new().with_key("user-42");
    /// assert_eq!(balancer.pick(&request)?.instance().id().as_str(), "stable-1");
    /// let request = request.with_plan(PlanId::nth(0));
    /// assert_eq!(balancer.pick(&request)?.instance().id().as_str(), "gray-1");
    /// # Ok(())
    /// # }
    /// ```
    pub fn set_policy(&self, policy: impl Into<Arc<CompiledPolicy>>) {
        self.guard.shared.policies.send_replace(Some(policy.into()));
    }

    /// The kill switch: while the policy is switched off, nothing of it is computed and every request goes the way it goes
    /// without one. It takes effect with the next request, and a policy that is set later stays off too. How keys are mapped
    /// stays as the policy says, so that switching it off moves none for that.
    pub fn switch_policy(&self, on: bool) {
        let was_off = self.guard.shared.policy_off.swap(!on, Ordering::Relaxed);
        if was_off == on {
            tracing::info!(service = %self.service(), on, "the policy was switched");
        }
    }

    /// Whether the policy is switched on, which it is from the start.
    #[must_use]
    pub fn is_policy_on(&self) -> bool {
        !self.guard.shared.policy_off.load(Ordering::Relaxed)
    }

    /// Takes note of what became of a request that was decided without the policy: the instance that got it, by its id or its
    /// address `host:port`; `None` where that is not known.
    pub fn observed(&self, suggestion: &Suggestion, actual: Option<&str>) {
        self.guard.shared.observing.record(suggestion, actual);
    }

    /// How far the policy agrees with what is done without it, over the requests that were
    /// [observed](Self::observed) since the start or the last [reset](Self::reset_observed). It is of one policy, that which was
    /// observed last: with the first request under another one it begins anew, and it stays when that is no longer in force.
    #[must_use]
    pub fn observe_report(&self) -> ObserveReport {
        self.guard.shared.observing.report()
    }

    /// Forgets what was observed.
    pub fn reset_observed(&self) {
        self.guard.shared.observing.reset();
    }

    /// Explains how the request is decided, from its key to the instances that are tried. Where no policy is in force, it
    /// explains what the balancer does by its own [`routing`](crate::BalancerConfig::routing), with the key of the extension
    /// [`RoutingKey`](ringfence_policy::RoutingKey) and the tags of [`RequestTags`](ringfence_core::RequestTags).
    ///
    /// Of a request that the policy leaves to the baseline (modes `observe` and `enforce_percent`) it tells what the policy
    /// [would do](Explanation::is_suggested): whom the baseline tries, it does not know.
    ///
    /// What is drawn at random cannot be foreseen: without a key the instance, and whether it spills. An instance on trial after an
    /// ejection is told of as a candidate, although a pick walks past it while it has as many attempts as it may.
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
    /// let source = StaticDiscovery::new().with_service("cart", [Instance::builder("cart-1", "10.0.0.1:80").build()?]);
    /// let balancer = Balancer::builder(source, "cart").with_policy(policy).build()?;
    /// balancer.ready().await?;
    ///
    /// let request = http::Request::get("/cart").header("x-user", "alice").body(())?;
    /// let explanation = balancer.explain(&RequestHead::of(&request))?;
    /// assert_eq!((explanation.rule.as_str(), &*explanation.candidates), ("carts", &["cart-1".to_owned()][..]));
    /// println!("{explanation}");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`PickError`] where there is no state yet, or not any more.
    pub fn explain(&self, head: &RequestHead<'_>) -> Result<Explanation, PickError> {
        self.read(|current| current.explain(head))
    }

    /// The policy that was set last, whether or not there is a view for it already.
    #[must_use]
    pub fn latest_policy(&self) -> Option<Arc<CompiledPolicy>> {
        self.guard.shared.policies.borrow().clone()
    }

    /// The policy that requests see now; `None` where there is none, before the first view and after a shutdown.
    #[must_use]
    pub fn policy(&self) -> Option<Arc<CompiledPolicy>> {
        let state = self.guard.shared.cell.load();
        state.as_ref()?.policy.clone()
    }
}

use ringfence_core::RoutePlans;

/// How requests find their pools beyond the settings' [`routing`](crate::BalancerConfig::routing), made ready for use. It is
/// published with a view, so that a request sees a policy and the view that was made for it, or neither.
///
/// # Examples
/// See [`Balancer::set_policy`](crate::Balancer::set_policy).
#[derive(Debug, Clone, Default)]
pub struct CompiledPolicy {
    plans: RoutePlans,
}

impl CompiledPolicy {
    /// A policy of these plans.
    #[must_use]
    pub fn new(plans: RoutePlans) -> Self {
        Self { plans }
    }

    /// The plans that requests can take.
    #[must_use]
    pub fn plans(&self) -> &RoutePlans {
        &self.plans
    }
}

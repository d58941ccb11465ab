//! What a balancer tells of itself.

use std::sync::Arc;

use tokio::time::Instant;

use crate::{
    Balancer, CallRecord, Change, DecisionSample, HotKeys, InstanceStatus, RingShares,
    WeakBalancer,
    telemetry::{instance_statuses, observed_skew},
};

impl Balancer {
    /// A handle that does not keep the balancer.
    #[must_use]
    pub fn downgrade(&self) -> WeakBalancer {
        WeakBalancer::of(self)
    }

    /// Begins the record of a call; `None` where nobody observes calls. The layer of `ringfence-tower` does this for each of its calls;
    /// programs without it may do so too.
    ///
    /// # Examples
    /// See [`Observer`](crate::Observer).
    #[must_use]
    #[inline]
    pub fn observe_call(&self) -> Option<CallRecord> {
        let calls = &self.guard.shared.calls;
        calls.is_observed().then(|| CallRecord::begin(calls))
    }

    /// What is known of each instance now, in the order of the [view](Self::view)'s snapshot; nothing before the first view and after a
    /// shutdown.
    ///
    /// The first time for each view it goes over the whole ring, for [`InstanceStatus::ring_share`].
    ///
    /// # Examples
    /// ```
    /// use ringfence_balancer::{Balancer, PickRequest};
    /// use ringfence_core::Instance;
    /// use ringfence_discovery::StaticDiscovery;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let instances = [
    ///     Instance::builder("a", "10.0.0.1:80").build()?,
    ///     Instance::builder("b", "10.0.0.2:80").weight(300).build()?,
    /// ];
    /// let source = StaticDiscovery::new().with_service("order", instances);
    /// let balancer = Balancer::builder(source, "order").build_ready().await?;
    /// let running = balancer.pick(&PickRequest::new())?.first().begin();
    ///
    /// let instances = balancer.instances();
    /// assert_eq!(instances.iter().map(|status| status.in_flight).sum::<u64>(), 1);
    /// assert!(instances[1].usable && instances[1].weight_share == 0.75);
    /// assert!(instances[1].ring_share > instances[0].ring_share);
    /// # drop(running);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn instances(&self) -> Vec<InstanceStatus> {
        let shared = &self.guard.shared;
        let state = shared.cell.load_full();
        let statuses = |state: Arc<crate::published::Published>| {
            instance_statuses(&state.seats, &state.view, &shared.shares.of(&state.view))
        };
        state.map(statuses).unwrap_or_default()
    }

    /// How the ring of all instances shares the keys out; `None` before the first view and after a shutdown.
    ///
    /// The first time for each view it goes over the whole ring.
    #[must_use]
    pub fn ring_shares(&self) -> Option<Arc<RingShares>> {
        let shared = &self.guard.shared;
        let state = shared.cell.load_full()?;
        Some(shared.shares.of(&state.view))
    }

    /// The largest part of the requests of the last while that an instance had, compared with what its weight asks for among those
    /// that are usable: 1 is even. `None` with fewer than ten requests for each instance.
    #[must_use]
    pub fn observed_skew(&self) -> Option<f64> {
        let shared = &self.guard.shared;
        let state = shared.cell.load_full()?;
        let statuses = instance_statuses(&state.seats, &state.view, &shared.shares.of(&state.view));
        observed_skew(&statuses, &state.seats)
    }

    /// The last [`KEPT`](Change::KEPT) changes of instances or of the ring, the oldest first. The first view is none.
    #[must_use]
    pub fn changes(&self) -> Vec<Change> {
        self.guard.shared.history.all()
    }

    /// Some of the calls of the last while, the oldest first: at most one in ten milliseconds, at most
    /// [`KEPT`](DecisionSample::KEPT). Calls are looked at from the first time on that this is asked, until nobody has asked for
    /// [`LOOKED_AT_FOR`](DecisionSample::LOOKED_AT_FOR); what was seen is forgotten then.
    #[must_use]
    pub fn decisions(&self) -> Vec<DecisionSample> {
        let now = Instant::now().into_std();
        self.guard.shared.calls.decisions(now)
    }

    /// The keys with the most requests, at most `most`, by a sample of about one request in sixteen; nothing
    /// [without](crate::BalancerConfig::without_hot_keys) counting them.
    #[must_use]
    pub fn hot_keys(&self, most: usize) -> HotKeys {
        let sampler = self.guard.shared.hot_keys.as_ref();
        let hottest = sampler.map(|sampler| sampler.hottest(most, Instant::now().into_std()));
        hottest.unwrap_or_default()
    }
}

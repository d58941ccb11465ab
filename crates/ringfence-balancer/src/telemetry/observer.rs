use std::{sync::Arc, time::Duration};

use ringfence_core::{EjectionCause, InstanceId, ReturnCause};
use ringfence_discovery::ServiceKey;

use super::{CallOutcome, Change, PoolLabel};
use crate::WeakBalancer;

/// Hears what balancers do: for metrics, alarms and records.
///
/// It is called in the balancer's task and at the end of calls, so it must neither wait nor take long. A panic in it is caught and
/// logged once. One observer may serve many balancers.
///
/// # Examples
/// ```
/// use std::sync::{Arc, atomic::{AtomicU64, Ordering}};
/// use ringfence_balancer::{Balancer, BalancerEvent, CallEnd, CallObserver, CallOutcome, Observer, PickRequest, PoolLabel, ServiceKey};
/// use ringfence_core::Instance;
/// use ringfence_discovery::StaticDiscovery;
///
/// #[derive(Debug, Default)]
/// struct Failures(Arc<AtomicU64>);
///
/// #[derive(Debug)]
/// struct OfPool(Arc<AtomicU64>);
///
/// impl Observer for Failures {
///     fn pool(&self, _: &ServiceKey, _: &PoolLabel) -> Arc<dyn CallObserver> {
///         Arc::new(OfPool(Arc::clone(&self.0)))
///     }
///
///     fn event(&self, service: &ServiceKey, event: &BalancerEvent<'_>) {
///         if let BalancerEvent::Ejected { instance, cause, .. } = event {
///             println!("{service}: {instance} is out: {cause}");
///         }
///     }
/// }
///
/// impl CallObserver for OfPool {
///     fn ended(&self, call: &CallEnd<'_>) {
///         if !call.outcome.is_success() {
///             self.0.fetch_add(1, Ordering::Relaxed);
///         }
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let failures = Failures::default();
/// let count = Arc::clone(&failures.0);
/// let source = StaticDiscovery::new()
///     .with_service("order", [Instance::builder("a", "10.0.0.1:80").build()?]);
/// let balancer = Balancer::builder(source, "order").with_observer(failures).build_ready().await?;
///
/// // The layer of `ringfence-tower` does this for each call.
/// let mut call = balancer.observe_call().expect("somebody observes");
/// call.decided(balancer.pick(&PickRequest::new())?.choice(), None);
/// call.end(CallOutcome::Transport, None);
/// assert_eq!(count.load(Ordering::Relaxed), 1);
/// # Ok(())
/// # }
/// ```
pub trait Observer: Send + Sync + 'static {
    /// A balancer begins. What is read from time to time, such as its [`status`](crate::Balancer::status), is read through this
    /// handle, which keeps nothing alive.
    fn started(&self, balancer: &WeakBalancer) {
        let _ = balancer;
    }

    /// Who hears of the calls of a pool. It is asked once for each label of a service, of which there are at most 256 at a time,
    /// beside `default/0`, `none` and `others`, to which the calls of further rules belong. It must not make calls through the balancer.
    fn pool(&self, service: &ServiceKey, pool: &PoolLabel) -> Arc<dyn CallObserver>;

    /// A label is given back: the policy in force does not name its rule, and the last call of it has ended. Should the rule come
    /// back, [`pool`](Self::pool) is asked anew, maybe before this is told: count how often. A balancer that ends tells nothing of its
    /// labels.
    fn pool_gone(&self, service: &ServiceKey, pool: &PoolLabel) {
        let _ = (service, pool);
    }

    /// Something happened that is no call.
    fn event(&self, service: &ServiceKey, event: &BalancerEvent<'_>) {
        let _ = (service, event);
    }
}

impl<T: Observer + ?Sized> Observer for Arc<T> {
    fn started(&self, balancer: &WeakBalancer) {
        (**self).started(balancer);
    }

    fn pool(&self, service: &ServiceKey, pool: &PoolLabel) -> Arc<dyn CallObserver> {
        (**self).pool(service, pool)
    }

    fn pool_gone(&self, service: &ServiceKey, pool: &PoolLabel) {
        (**self).pool_gone(service, pool);
    }

    fn event(&self, service: &ServiceKey, event: &BalancerEvent<'_>) {
        (**self).event(service, event);
    }
}

/// Hears how the calls of one pool end.
pub trait CallObserver: Send + Sync + 'static {
    /// A call is over. Many threads may call this at once; [`StripedCounters`](crate::StripedCounters) count without a fight.
    fn ended(&self, call: &CallEnd<'_>);
}

/// A call that is over.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct CallEnd<'a> {
    /// How it ended.
    pub outcome: CallOutcome,
    /// From its begin to the end of the answer.
    pub took: Duration,
    /// Attempts that were begun; zero where there was no instance.
    pub attempts: u32,
    /// The instance of the last one; `None` also where the caller went away before the answer began.
    pub instance: Option<&'a InstanceId>,
}

/// Something that a balancer did or learnt, other than a call.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum BalancerEvent<'a> {
    /// A view was published.
    ViewPublished {
        /// Its number.
        epoch: u64,
        /// How long it took to make.
        build: Duration,
        /// What differs, unless it is the first one, or its instances and its ring are those of the one before.
        change: Option<&'a Change>,
    },
    /// A view could not be made; the one before stays.
    ViewFailed,
    /// Outlier detection takes an instance out.
    Ejected {
        /// Which.
        instance: &'a InstanceId,
        /// Why.
        cause: EjectionCause,
        /// For how long at most.
        length: Duration,
    },
    /// An ejection is over.
    Returned {
        /// Of which instance.
        instance: &'a InstanceId,
        /// Why it is over.
        why: ReturnCause,
    },
}

use std::{fmt, sync::Weak};

use ringfence_discovery::ServiceKey;

use crate::{Balancer, handle::TaskGuard};

/// A handle to a balancer that does not keep it: for metrics and pages, which are not to outlive what they show.
///
/// # Examples
/// ```
/// use ringfence_balancer::Balancer;
/// use ringfence_discovery::MemoryRegistry;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let balancer = Balancer::builder(MemoryRegistry::new(), "order").build()?;
/// let weak = balancer.downgrade();
/// assert!(weak.upgrade().is_some());
/// drop(balancer);
/// assert!(weak.upgrade().is_none());
/// assert_eq!(weak.service().name(), "order");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct WeakBalancer {
    guard: Weak<TaskGuard>,
    service: ServiceKey,
}

impl WeakBalancer {
    pub(crate) fn of(balancer: &Balancer) -> Self {
        Self {
            guard: std::sync::Arc::downgrade(&balancer.guard),
            service: balancer.service().clone(),
        }
    }

    /// The balancer, as long as somebody else keeps it.
    #[must_use]
    pub fn upgrade(&self) -> Option<Balancer> {
        self.guard.upgrade().map(|guard| Balancer { guard })
    }

    /// Whether it is gone.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        self.guard.strong_count() == 0
    }

    /// The service.
    #[must_use]
    pub fn service(&self) -> &ServiceKey {
        &self.service
    }
}

impl fmt::Debug for WeakBalancer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WeakBalancer")
            .field("service", &self.service)
            .field("is_gone", &self.is_gone())
            .finish()
    }
}

use std::sync::Arc;

use ringfence_discovery::ServiceKey;

use super::{BalancerEvent, CallEnd, CallObserver, Observer, PoolLabel, guarded};
use crate::WeakBalancer;

/// Two observers, one after the other; a fault in one does not keep the other from hearing.
pub(crate) struct Both(pub(crate) Arc<dyn Observer>, pub(crate) Arc<dyn Observer>);

impl Observer for Both {
    fn started(&self, balancer: &WeakBalancer) {
        guarded(|| self.0.started(balancer));
        self.1.started(balancer);
    }

    fn pool(&self, service: &ServiceKey, pool: &PoolLabel) -> Arc<dyn CallObserver> {
        let second = self.1.pool(service, pool);
        match guarded(|| self.0.pool(service, pool)) {
            Some(first) => Arc::new(BothOfPool(first, second)),
            None => second,
        }
    }

    fn pool_gone(&self, service: &ServiceKey, pool: &PoolLabel) {
        guarded(|| self.0.pool_gone(service, pool));
        self.1.pool_gone(service, pool);
    }

    fn event(&self, service: &ServiceKey, event: &BalancerEvent<'_>) {
        guarded(|| self.0.event(service, event));
        self.1.event(service, event);
    }
}

struct BothOfPool(Arc<dyn CallObserver>, Arc<dyn CallObserver>);

impl CallObserver for BothOfPool {
    fn ended(&self, call: &CallEnd<'_>) {
        guarded(|| self.0.ended(call));
        self.1.ended(call);
    }
}

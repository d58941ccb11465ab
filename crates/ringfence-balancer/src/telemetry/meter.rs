use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use ringfence_discovery::ServiceKey;

use super::{CallEnd, CallObserver, Observer, PoolLabel, guarded};
use crate::striped::StripedArc;

/// A meter that is given to further calls.
pub(super) type SharedMeter = Arc<StripedArc<PoolMeter>>;

/// Who hears of one pool. Calls that run keep it, and so does whoever gives it to further ones.
pub(super) struct PoolMeter {
    pub(super) label: PoolLabel,
    service: ServiceKey,
    observer: Option<Arc<dyn Observer>>,
    calls: Option<Arc<dyn CallObserver>>,
    /// There will be no further call.
    is_over: AtomicBool,
}

impl PoolMeter {
    pub(super) fn new(
        service: &ServiceKey,
        observer: Option<&Arc<dyn Observer>>,
        label: PoolLabel,
    ) -> Self {
        let calls = observer.and_then(|observer| guarded(|| observer.pool(service, &label)));
        Self {
            label,
            service: service.clone(),
            observer: observer.cloned(),
            calls,
            is_over: AtomicBool::new(false),
        }
    }

    #[inline]
    pub(super) fn ended(&self, call: &CallEnd<'_>) {
        if let Some(calls) = &self.calls {
            guarded(|| calls.ended(call));
        }
    }

    /// Its label is given back with the last call that runs.
    pub(super) fn leave(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }

    /// There are calls again.
    pub(super) fn stay(&self) {
        self.is_over.store(false, Ordering::Relaxed);
    }
}

impl Drop for PoolMeter {
    fn drop(&mut self) {
        if let (true, Some(observer)) = (*self.is_over.get_mut(), &self.observer) {
            guarded(|| observer.pool_gone(&self.service, &self.label));
        }
    }
}

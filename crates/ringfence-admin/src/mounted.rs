//! A balancer that is shown.

use std::sync::{Arc, Mutex, PoisonError};

use ringfence_balancer::{Balancer, ServiceKey, WeakBalancer};
use ringfence_core::Ring;

use crate::documents::RingDocument;

pub(crate) struct Mounted {
    pub(crate) service: ServiceKey,
    /// A page keeps nothing alive.
    balancer: WeakBalancer,
    /// That of the last ring that was asked for: working it out goes over all points.
    ring: Mutex<Option<(Arc<Ring>, Arc<RingDocument>)>>,
}

impl Mounted {
    pub(crate) fn new(balancer: &Balancer) -> Self {
        Self {
            service: balancer.service().clone(),
            balancer: balancer.downgrade(),
            ring: Mutex::new(None),
        }
    }

    /// `None` once its last handle was dropped.
    pub(crate) fn balancer(&self) -> Option<Balancer> {
        self.balancer.upgrade()
    }

    /// The document of a ring, which is worked out once for each ring.
    pub(crate) fn ring(&self, ring: &Arc<Ring>) -> Arc<RingDocument> {
        // A document is whole or not there, whatever panicked.
        let mut known = self.ring.lock().unwrap_or_else(PoisonError::into_inner);
        match &*known {
            Some((of, document)) if Arc::ptr_eq(of, ring) => Arc::clone(document),
            _ => {
                let document = Arc::new(RingDocument::of(ring));
                *known = Some((Arc::clone(ring), Arc::clone(&document)));
                document
            }
        }
    }
}

//! A balancer that is shown.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use ringfence_balancer::{Balancer, ServiceKey, WeakBalancer};
use ringfence_core::Ring;

use crate::documents::RingDocument;

pub(crate) struct Mounted {
    pub(crate) service: ServiceKey,
    /// A page keeps nothing alive.
    balancer: WeakBalancer,
    /// That of the last ring that was asked for: working it out goes over all points.
    ring: Mutex<Option<OfRing>>,
}

/// A ring and its document. Its place in memory is no other ring's as long as this is there.
type OfRing = (Weak<Ring>, Arc<RingDocument>);

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

    /// The document of a ring. It is worked out once for each ring, or by each of those who ask while it is not known yet: nobody
    /// waits for another.
    pub(crate) fn ring(&self, ring: &Arc<Ring>) -> Arc<RingDocument> {
        if let Some((of, document)) = &*self.known()
            && of.as_ptr() == Arc::as_ptr(ring)
        {
            return Arc::clone(document);
        }
        let document = Arc::new(RingDocument::of(ring));
        *self.known() = Some((Arc::downgrade(ring), Arc::clone(&document)));
        document
    }

    /// A document is whole or not there, whatever panicked.
    fn known(&self) -> MutexGuard<'_, Option<OfRing>> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

use std::sync::{Arc, Mutex, PoisonError};

use ringfence_core::{Evenness, Fingerprint, Ring, View, weight_shares};

/// Parts of the key space that instances own on the ring of all of them, and what their weights ask for.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RingShares {
    /// The ring.
    pub fingerprint: Fingerprint,
    /// The part of each instance, from 0 to 1, in the order of the snapshot; `None` where only keys themselves tell it (several
    /// probes, jump, rendezvous) and where it takes more than [`MAX_STEPS`](Self::MAX_STEPS).
    pub owned: Option<Vec<f64>>,
    /// What the weight of each instance asks for, from 0 to 1, in the same order.
    pub asked: Vec<f64>,
    /// The largest part compared with what its weight asks for; 1 is even.
    pub skew: Option<f64>,
}

impl RingShares {
    /// Rings that take more [steps](Ring::arc_steps) are not measured: some milliseconds of work.
    pub const MAX_STEPS: usize = 500_000;

    fn of(view: &View) -> Self {
        let ring = view.whole_ring();
        let instances = view.snapshot().instances().iter();
        let asked = weight_shares(instances.map(|instance| &**instance));
        let owned = owned(ring, view);
        let skew = owned.as_ref().and_then(|owned| {
            let pairs = owned.iter().copied().zip(asked.iter().copied());
            Evenness::of(pairs).map(|evenness| evenness.max_over_mean)
        });
        Self {
            fingerprint: ring.fingerprint(),
            owned,
            asked,
            skew,
        }
    }
}

fn owned(ring: &Ring, view: &View) -> Option<Vec<f64>> {
    if ring.arc_steps() > RingShares::MAX_STEPS {
        return None;
    }
    let shares = ring.shares()?;
    let instances = view.snapshot().instances().iter();
    let share = |id: &str| {
        let member = ring.member_of(id)?;
        Some(shares.get(member as usize)?.as_f64())
    };
    Some(
        instances
            .map(|i| share(i.id().as_str()).unwrap_or_default())
            .collect(),
    )
}

/// The shares of the view that was asked about last: whoever shows them asks often, and views change seldom.
#[derive(Debug, Default)]
pub(crate) struct ShareCache {
    last: Mutex<Option<(u64, Arc<RingShares>)>>,
}

impl ShareCache {
    pub(crate) fn of(&self, view: &View) -> Arc<RingShares> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((epoch, shares)) = &*last
            && *epoch == view.epoch()
        {
            return Arc::clone(shares);
        }
        let shares = Arc::new(RingShares::of(view));
        *last = Some((view.epoch(), Arc::clone(&shares)));
        shares
    }
}

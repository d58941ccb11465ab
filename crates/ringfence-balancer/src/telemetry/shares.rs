use std::sync::{Arc, Mutex, PoisonError};

use ringfence_core::{Fingerprint, Ring, View};

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
        let instances = view.snapshot().instances();
        let weights = instances.iter().map(|instance| {
            if instance.takes_traffic() {
                f64::from(instance.weight().get())
            } else {
                0.0
            }
        });
        let weights: Vec<f64> = weights.collect();
        let total: f64 = weights.iter().sum();
        let asked = weights
            .iter()
            .map(|weight| if total > 0.0 { weight / total } else { 0.0 });
        let asked: Vec<f64> = asked.collect();
        let owned = owned(ring, view);
        let skew = owned.as_ref().and_then(|owned| skew(owned, &asked));
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

/// The largest of the parts, each compared with what it should be.
pub(super) fn skew(parts: &[f64], asked: &[f64]) -> Option<f64> {
    let pairs = parts.iter().zip(asked).filter(|(_, asked)| **asked > 0.0);
    pairs
        .map(|(part, asked)| part / asked)
        .max_by(f64::total_cmp)
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

use std::{
    collections::BTreeSet,
    fmt,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

use arc_swap::ArcSwap;
use ringfence_discovery::ServiceKey;

use super::{
    BalancerEvent, CallEnd, CallObserver, DecisionSample, Observer, PoolLabel, guarded,
    samples::Samples,
};
use crate::WeakBalancer;

/// The most labels of a service.
const MAX_POOLS: usize = 256;
/// The most rules that are known by where their name lies; a policy that is replaced again and again brings new places.
const MAX_PLACES: usize = 2 * MAX_POOLS;

/// Who hears of one pool.
pub(super) struct PoolMeter {
    pub(super) label: PoolLabel,
    observer: Option<Arc<dyn CallObserver>>,
}

impl PoolMeter {
    pub(super) fn ended(&self, call: &CallEnd<'_>) {
        if let Some(observer) = &self.observer {
            guarded(|| observer.ended(call));
        }
    }
}

/// Finds a meter without comparing names: policies hand out the same copy of a rule's name.
#[derive(Clone)]
struct Place {
    rule: Option<Arc<str>>,
    stage: usize,
    meter: Arc<PoolMeter>,
}

impl Place {
    fn is(&self, rule: Option<&Arc<str>>, stage: usize) -> bool {
        self.stage == stage
            && match (&self.rule, rule) {
                (Some(known), Some(rule)) => Arc::ptr_eq(known, rule),
                (None, None) => true,
                _ => false,
            }
    }
}

/// What hears of the calls of a service.
pub(crate) struct Calls {
    service: ServiceKey,
    observer: Option<Arc<dyn Observer>>,
    /// That of calls that no policy decides and that go to the first stage: nearly all, where there is no policy.
    first: OnceLock<Arc<PoolMeter>>,
    places: ArcSwap<Vec<Place>>,
    /// Labels that there are places of.
    labels: AtomicUsize,
    none: OnceLock<Arc<PoolMeter>>,
    others: OnceLock<Arc<PoolMeter>>,
    pub(super) samples: Samples,
}

impl Calls {
    pub(crate) fn new(
        service: ServiceKey,
        observer: Option<Arc<dyn Observer>>,
        now: Instant,
    ) -> Self {
        Self {
            service,
            observer,
            first: OnceLock::new(),
            places: ArcSwap::default(),
            labels: AtomicUsize::new(0),
            none: OnceLock::new(),
            others: OnceLock::new(),
            samples: Samples::new(now),
        }
    }

    /// Whether anybody wants to hear of calls.
    #[inline]
    pub(crate) fn is_observed(&self) -> bool {
        self.observer.is_some() || self.samples.is_on()
    }

    pub(crate) fn started(&self, balancer: &WeakBalancer) {
        if let Some(observer) = &self.observer {
            guarded(|| observer.started(balancer));
        }
    }

    pub(crate) fn event(&self, event: &BalancerEvent<'_>) {
        if let Some(observer) = &self.observer {
            guarded(|| observer.event(&self.service, event));
        }
    }

    pub(crate) fn fold(&self) {
        self.samples.fold();
    }

    pub(crate) fn decisions(&self) -> Vec<DecisionSample> {
        self.samples.newest()
    }

    /// The meter of calls that came to no pool.
    pub(super) fn none(&self) -> &Arc<PoolMeter> {
        self.none.get_or_init(|| self.meter(PoolLabel::none()))
    }

    fn first(&self) -> &Arc<PoolMeter> {
        self.first
            .get_or_init(|| self.meter(PoolLabel::new(PoolLabel::DEFAULT_RULE, 0)))
    }

    pub(super) fn of(&self, rule: Option<&Arc<str>>, stage: usize) -> Arc<PoolMeter> {
        if rule.is_none() && stage == 0 {
            return Arc::clone(self.first());
        }
        let places = self.places.load();
        match places.iter().find(|place| place.is(rule, stage)) {
            Some(place) => Arc::clone(&place.meter),
            None => self.add(rule, stage),
        }
    }

    fn meter(&self, label: PoolLabel) -> Arc<PoolMeter> {
        let observer = self.observer.as_ref();
        let observer =
            observer.and_then(|observer| guarded(|| observer.pool(&self.service, &label)));
        Arc::new(PoolMeter { label, observer })
    }

    /// For the first call of a pool, and the first ones after a new policy.
    #[cold]
    fn add(&self, rule: Option<&Arc<str>>, stage: usize) -> Arc<PoolMeter> {
        let name = rule.map_or(PoolLabel::DEFAULT_RULE, |rule| rule);
        let label = PoolLabel::new(name, stage);
        if stage == 0 && name == PoolLabel::DEFAULT_RULE {
            return Arc::clone(self.first());
        }
        let mut made = None;
        let mut found = None;
        self.places.rcu(|places| {
            let named = places.iter().find(|place| place.meter.label == label);
            let meter = match named {
                Some(place) => Arc::clone(&place.meter),
                None if made.is_none() && self.labels.load(Ordering::Relaxed) >= MAX_POOLS => {
                    let others = self.others.get_or_init(|| self.meter(PoolLabel::others()));
                    found = Some(Arc::clone(others));
                    return Arc::clone(places);
                }
                None => Arc::clone(made.get_or_insert_with(|| {
                    self.labels.fetch_add(1, Ordering::Relaxed);
                    self.meter(label.clone())
                })),
            };
            found = Some(Arc::clone(&meter));
            let mut places = Vec::clone(places);
            let place = Place {
                rule: rule.cloned(),
                stage,
                meter,
            };
            if places.len() >= MAX_PLACES {
                // The labels stay, and of each the newest place.
                places.reverse();
                let mut seen = BTreeSet::new();
                places.retain(|place| seen.insert(place.meter.label.clone()));
                places.reverse();
            }
            places.push(place);
            Arc::new(places)
        });
        found.unwrap_or_else(|| Arc::clone(self.none()))
    }
}

impl fmt::Debug for Calls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Calls")
            .field("service", &self.service)
            .field("observed", &self.is_observed())
            .finish_non_exhaustive()
    }
}

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Instant,
};

use arc_swap::ArcSwap;
use ringfence_discovery::ServiceKey;
use ringfence_policy::CompiledPolicy;

use super::{
    BalancerEvent, DecisionSample, Observer, PoolLabel, guarded,
    labels::{Given, Labels},
    meter::{PoolMeter, SharedMeter},
    places::Places,
    samples::Samples,
};
use crate::{
    WeakBalancer,
    striped::{Striped, StripedArc},
};

/// What hears of the calls of a service.
pub(crate) struct Calls {
    service: ServiceKey,
    observer: Option<Arc<dyn Observer>>,
    /// That of calls that no policy decides and that go to the first stage: nearly all, where there is no policy.
    first: OnceLock<Arc<PoolMeter>>,
    places: ArcSwap<Places>,
    /// Whoever has the lock may write places.
    labels: Mutex<Labels>,
    none: OnceLock<Arc<PoolMeter>>,
    others: OnceLock<SharedMeter>,
    pub(super) samples: Samples,
}

/// Who hears of a call.
pub(super) enum Meter {
    /// It came to no pool.
    None,
    /// That of most calls, which need not hold it.
    First,
    Pool(Arc<Striped<PoolMeter>>),
}

impl Meter {
    #[inline]
    pub(super) fn of<'a>(&'a self, calls: &'a Calls) -> &'a PoolMeter {
        match self {
            Self::None => calls.none(),
            Self::First => calls.first(),
            Self::Pool(meter) => meter,
        }
    }
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
            labels: Mutex::default(),
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

    /// For the task, once in a while.
    pub(crate) fn fold(&self, now: Instant) {
        self.samples.fold(now);
        let mut labels = self.labels();
        if labels.is_short && labels.has_room() {
            self.forget_places(&mut labels);
        }
    }

    pub(crate) fn decisions(&self, now: Instant) -> Vec<DecisionSample> {
        self.samples.newest(now)
    }

    /// A policy comes into force. Until [`follow`](Self::follow), calls may be of its rules and of those before.
    pub(crate) fn expect(&self, policy: &CompiledPolicy) {
        self.labels().expect(policy);
    }

    /// A policy is in force: rules that it does not name give their labels back, once their last call has ended.
    pub(crate) fn follow(&self, policy: &CompiledPolicy) {
        let mut labels = self.labels();
        let gone = labels.follow(policy);
        self.forget_places(&mut labels);
        drop(labels);
        drop(gone);
    }

    /// Calls ask for their labels anew.
    fn forget_places(&self, labels: &mut Labels) {
        labels.places = 0;
        labels.is_short = false;
        self.places.store(Arc::default());
    }

    fn labels(&self) -> MutexGuard<'_, Labels> {
        // Observers are guarded, and nothing else that panics is done under it.
        self.labels.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The meter of calls that came to no pool.
    fn none(&self) -> &PoolMeter {
        self.none
            .get_or_init(|| Arc::new(self.meter(PoolLabel::none())))
    }

    fn first(&self) -> &Arc<PoolMeter> {
        self.first
            .get_or_init(|| Arc::new(self.meter(PoolLabel::new(PoolLabel::DEFAULT_RULE, 0))))
    }

    fn others(&self) -> &SharedMeter {
        self.others
            .get_or_init(|| Arc::new(StripedArc::new(self.meter(PoolLabel::others()))))
    }

    fn meter(&self, label: PoolLabel) -> PoolMeter {
        PoolMeter::new(&self.service, self.observer.as_ref(), label)
    }

    #[inline]
    pub(super) fn of(&self, rule: Option<&Arc<str>>, stage: usize) -> Meter {
        if rule.is_none() && stage == 0 {
            return Meter::First;
        }
        Meter::Pool(self.pool(rule, stage))
    }

    fn pool(&self, rule: Option<&Arc<str>>, stage: usize) -> Arc<Striped<PoolMeter>> {
        match self.places.load().get(rule, stage) {
            Some(meter) => meter.of_this_thread(),
            None => self.add(rule, stage),
        }
    }

    /// For the first call of a pool, and the first ones after a new policy.
    #[cold]
    fn add(&self, rule: Option<&Arc<str>>, stage: usize) -> Arc<Striped<PoolMeter>> {
        let name = rule.map_or(PoolLabel::DEFAULT_RULE, |rule| rule);
        let label = PoolLabel::new(name, stage);
        let mut labels = self.labels();
        let meter = if stage == 0 && name == PoolLabel::DEFAULT_RULE {
            Arc::new(StripedArc::of(Arc::clone(self.first())))
        } else {
            match labels.of(&label, || self.meter(label.clone())) {
                Given::Kept(meter) => meter,
                Given::Leaving(meter) => return Striped::of(meter),
                Given::None => Arc::clone(self.others()),
            }
        };
        let places = self.places.load();
        // Somebody else may have added it meanwhile.
        if places.get(rule, stage).is_some() {
            return meter.of_this_thread();
        }
        if labels.places >= Places::MOST {
            labels.places = 0;
            self.places.store(Arc::default());
        }
        let places = self.places.load();
        if let Some(larger) = places.add(labels.places, rule, stage, &meter) {
            self.places.store(Arc::new(larger));
        }
        labels.places += 1;
        meter.of_this_thread()
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

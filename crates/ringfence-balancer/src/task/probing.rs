//! Asks ejected instances that could not be reached whether they serve again.

use std::{
    collections::{HashMap, HashSet},
    future::pending,
    sync::Arc,
    time::Instant,
};

use ringfence_core::{Instance, OutlierConfig};
use ringfence_discovery::{Probe, ServiceKey};
use tracing::debug;

use super::{
    Task, now,
    runner::{ProbeFault, Runner, ask},
};
use crate::node::NodeIdentity;

/// Probes that run at a time; the others wait for their turn.
const MAX_RUNNING: usize = 16;

/// Runs the probes; they end with it.
#[derive(Debug)]
pub(crate) struct Prober {
    service: ServiceKey,
    probe: Arc<dyn Probe>,
    config: OutlierConfig,
    next: HashMap<NodeIdentity, Instant>,
    runner: Runner<Result<(), ProbeFault>>,
}

impl Prober {
    pub(crate) fn new(service: ServiceKey, probe: Arc<dyn Probe>, config: OutlierConfig) -> Self {
        Self {
            service,
            probe,
            config,
            next: HashMap::new(),
            runner: Runner::new(MAX_RUNNING),
        }
    }

    /// Those that are to be asked, again and again, and nobody else.
    fn want<'a>(&mut self, wanted: impl Iterator<Item = &'a NodeIdentity>, now: Instant) {
        let wanted: HashSet<_> = wanted.collect();
        self.next.retain(|identity, _| wanted.contains(identity));
        // What was asked of an instance that is back says nothing of its next ejection.
        self.runner.retain(|identity| wanted.contains(identity));
        for identity in wanted {
            if !self.runner.runs(identity) && !self.next.contains_key(identity) {
                let at = self.pause_from(now);
                self.next.insert(identity.clone(), at);
            }
        }
    }

    fn pause_from(&self, now: Instant) -> Instant {
        now + self
            .config
            .probe_interval()
            .mul_f64(0.8 + 0.4 * fastrand::f64())
    }

    fn deadline(&self) -> Option<Instant> {
        let next = self.next.values().min().copied();
        next.filter(|_| self.runner.has_room())
    }

    /// One that is to be asked now.
    fn due(&mut self, now: Instant) -> Option<NodeIdentity> {
        let (identity, at) = self.next.iter().min_by_key(|(_, at)| **at)?;
        if *at > now || !self.runner.has_room() {
            return None;
        }
        let identity = identity.clone();
        self.next.remove(&identity);
        Some(identity)
    }

    fn ask(&mut self, identity: NodeIdentity, instance: Arc<Instance>) {
        let limit = self.config.probe_timeout();
        let asked = ask(Arc::clone(&self.probe), instance, limit);
        self.runner.start(identity, asked);
    }

    /// The next answer; waits for ever where nobody was asked. Cancel safe.
    async fn answer(&mut self) -> (NodeIdentity, bool) {
        let (identity, result) = self.runner.next().await;
        let result = result.unwrap_or_else(|panicked| Err(panicked.into()));
        if let Err(fault) = &result {
            debug!(service = %self.service, instance = %identity.id(), %fault, "an ejected instance does not serve yet");
        }
        (identity, result.is_ok())
    }
}

/// Waits for ever where there is no probe.
pub(super) async fn answer(prober: &mut Option<Prober>) -> (NodeIdentity, bool) {
    match prober {
        Some(prober) => prober.answer().await,
        None => pending().await,
    }
}

impl Task {
    pub(super) fn probing_deadline(&self) -> Option<Instant> {
        self.prober.as_ref().and_then(Prober::deadline)
    }

    /// Lets the prober know who is out.
    pub(super) fn update_probing(&mut self) {
        if let Some(prober) = &mut self.prober {
            prober.want(self.detector.to_probe(), now());
        }
    }

    pub(super) fn probes_due(&mut self, now: Instant) {
        let Some(prober) = &mut self.prober else {
            return;
        };
        let state = self.shared.cell.load();
        let Some(state) = &*state else {
            return;
        };
        while let Some(identity) = prober.due(now) {
            let instance = state.view.snapshot().get(identity.id().as_str());
            if let Some(instance) = instance.filter(|i| NodeIdentity::of(i) == identity) {
                prober.ask(identity, Arc::clone(instance));
            }
        }
    }

    pub(super) async fn probed(&mut self, identity: NodeIdentity, serves: bool) {
        let decision = self.detector.probed(&identity, serves, now());
        if decision.is_some_and(|decision| self.enact(&identity, decision)) {
            self.republish().await;
        }
    }
}

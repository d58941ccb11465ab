//! Asks ejected instances that could not be reached whether they serve again.

use std::{
    collections::{HashMap, HashSet},
    fmt,
    future::pending,
    sync::Arc,
    time::Instant,
};

use ringfence_core::{Instance, OutlierConfig};
use ringfence_discovery::{Probe, ProbeError};
use tokio::{
    task::{AbortHandle, Id, JoinError, JoinSet},
    time::timeout,
};
use tracing::debug;

use super::{Task, now};
use crate::node::NodeIdentity;

/// Probes that run at a time; the others wait for their turn.
const MAX_RUNNING: usize = 16;

/// Runs the probes; they end with it.
#[derive(Debug)]
pub(crate) struct Prober {
    probe: Arc<dyn Probe>,
    config: OutlierConfig,
    next: HashMap<NodeIdentity, Instant>,
    running: JoinSet<Result<(), Failed>>,
    asked: HashMap<Id, Asked>,
}

#[derive(Debug)]
struct Asked {
    identity: NodeIdentity,
    task: AbortHandle,
}

/// Why a probe did not pass.
#[derive(Debug)]
enum Failed {
    Answer(ProbeError),
    Late,
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Answer(error) => error.fmt(f),
            Self::Late => f.write_str("no answer in time"),
        }
    }
}

impl Prober {
    pub(crate) fn new(probe: Arc<dyn Probe>, config: OutlierConfig) -> Self {
        Self {
            probe,
            config,
            next: HashMap::new(),
            running: JoinSet::new(),
            asked: HashMap::new(),
        }
    }

    /// Those that are to be asked, again and again, and nobody else.
    fn want<'a>(&mut self, wanted: impl Iterator<Item = &'a NodeIdentity>, now: Instant) {
        let wanted: HashSet<_> = wanted.collect();
        self.next.retain(|identity, _| wanted.contains(identity));
        let mut asked = HashSet::new();
        for Asked { identity, task } in self.asked.values() {
            asked.insert(identity);
            // What was asked of an instance that is back says nothing of its next ejection.
            if !wanted.contains(identity) {
                task.abort();
            }
        }
        for identity in wanted.difference(&asked) {
            if !self.next.contains_key(*identity) {
                let at = self.pause_from(now);
                self.next.insert((*identity).clone(), at);
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
        let has_room = self.running.len() < MAX_RUNNING;
        self.next.values().min().copied().filter(|_| has_room)
    }

    fn due(&mut self, now: Instant) -> Vec<NodeIdentity> {
        let room = MAX_RUNNING.saturating_sub(self.running.len());
        let mut due: Vec<_> = self.next.iter().filter(|(_, at)| **at <= now).collect();
        due.sort_by_key(|(_, at)| **at);
        let due: Vec<_> = due
            .into_iter()
            .take(room)
            .map(|(identity, _)| identity.clone())
            .collect();
        for identity in &due {
            self.next.remove(identity);
        }
        due
    }

    fn ask(&mut self, identity: NodeIdentity, instance: Arc<Instance>) {
        let (probe, limit) = (Arc::clone(&self.probe), self.config.probe_timeout());
        let task = self.running.spawn(async move {
            match timeout(limit, probe.probe(&instance)).await {
                Ok(answer) => answer.map_err(Failed::Answer),
                Err(_) => Err(Failed::Late),
            }
        });
        self.asked.insert(task.id(), Asked { identity, task });
    }

    /// The next answer; waits for ever where nobody was asked. Cancel safe.
    async fn answer(&mut self) -> (NodeIdentity, bool) {
        loop {
            let Some(answer) = self.running.join_next_with_id().await else {
                return pending().await;
            };
            let (id, result) = match answer {
                Ok((id, Ok(()))) => (id, Ok(())),
                Ok((id, Err(failed))) => (id, Err(failed.to_string())),
                Err(error) => (error.id(), Err(ended(&error))),
            };
            let Some(Asked { identity, .. }) = self.asked.remove(&id) else {
                continue;
            };
            if let Err(reason) = &result {
                debug!(instance = %identity.id(), %reason, "an ejected instance does not serve yet");
            }
            return (identity, result.is_ok());
        }
    }
}

fn ended(error: &JoinError) -> String {
    if error.is_panic() {
        "the probe panicked".to_owned()
    } else {
        "nobody wants to know any more".to_owned()
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
        for identity in prober.due(now) {
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

//! The one task of a balancer: it owns all state that changes.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ringfence_core::{RequestTags, Snapshot, View, ViewConfig};
use ringfence_discovery::{Event, Supervisor};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant as TokioInstant, sleep_until};
use tracing::{debug, error, info, warn};

use crate::budget::HALF_WINDOW;
use crate::merge::Merger;
use crate::node::{NodeIdentity, NodeTable, Seat, failure_channel};
use crate::outlier::{Detector, Verdict};
use crate::publish;
use crate::routes::RouteCache;
use crate::shared::{Shared, TaskReport};
use crate::state::Published;

/// New tags are prepared at most this often, so that a flood of them cannot keep the task busy.
const PREPARE_INTERVAL: Duration = Duration::from_millis(100);
/// Views with more work than this (about one unit for each point or judged member) are built
/// beside the runtime, so that a single-threaded one goes on serving.
const INLINE_WORK: usize = 200_000;

pub(crate) struct Task {
    shared: Arc<Shared>,
    supervisor: Supervisor,
    merger: Merger<Arc<Snapshot>>,
    table: NodeTable,
    detector: Detector<NodeIdentity>,
    failures: mpsc::Receiver<NodeIdentity>,
    /// Nodes that keep failing but must stay in for now; asked again when the limits may allow more.
    refused: Vec<NodeIdentity>,
    routes: RouteCache,
    prepare_at: Option<Instant>,
    prepared_at: Option<Instant>,
    fold_at: Instant,
    report: TaskReport,
    /// Whether the registry has answered. The last field: when its receivers see it go, the watch
    /// and its sockets are gone.
    answered: watch::Sender<bool>,
}

fn now() -> Instant {
    TokioInstant::now().into_std()
}

impl Task {
    pub(crate) fn new(
        shared: Arc<Shared>,
        supervisor: Supervisor,
        answered: watch::Sender<bool>,
    ) -> Self {
        let config = &shared.config;
        let (sender, failures) = failure_channel(config.outlier().consecutive_failures());
        Self {
            supervisor,
            merger: Merger::new(config.update_merge_window(), config.max_merge_delay()),
            table: NodeTable::new(sender, Arc::clone(&shared.nodes_alive)),
            detector: Detector::new(*config.outlier()),
            failures,
            refused: Vec::new(),
            routes: RouteCache::new(config.max_pools()),
            prepare_at: None,
            prepared_at: None,
            fold_at: now() + HALF_WINDOW,
            report: TaskReport::default(),
            answered,
            shared,
        }
    }

    pub(crate) async fn run(mut self) {
        loop {
            let deadline = TokioInstant::from_std(self.deadline());
            tokio::select! {
                // Failing instances first, they hurt requests now; each node has at most one
                // report here, so they cannot starve the rest. Then the registry. The wishes of
                // requests last: whoever sends many tags must not delay a removal.
                biased;
                Some(identity) = self.failures.recv() => self.failing(identity).await,
                event = self.supervisor.next() => self.event(event).await,
                () = sleep_until(deadline) => self.timers().await,
                () = self.shared.wishes.arrived(), if self.prepare_at.is_none() => {
                    let earliest = self.prepared_at.map(|at| at + PREPARE_INTERVAL);
                    self.prepare_at = Some(earliest.unwrap_or_else(now));
                }
            }
            self.update_report();
        }
    }

    fn deadline(&self) -> Instant {
        [
            Some(self.fold_at),
            self.merger.deadline(),
            self.detector.deadline(),
            self.prepare_at,
        ]
        .into_iter()
        .flatten()
        .min()
        .unwrap_or(self.fold_at)
    }

    async fn event(&mut self, event: Event) {
        match event {
            Event::Snapshot(accepted) => {
                let urgency =
                    publish::urgency(self.shared.cell.load().as_deref(), &accepted.snapshot);
                if let Some(snapshot) = self.merger.offer(accepted.snapshot, urgency, now()) {
                    self.apply(snapshot, true).await;
                }
            }
            Event::NoSuchService => {
                info!("the registry does not know the service");
                self.merger.clear();
                self.apply(Arc::new(Snapshot::empty()), false).await;
            }
            // The supervisor logs what its state flips mean.
            _ => {}
        }
    }

    async fn timers(&mut self) {
        let now = now();
        if self.fold_at <= now {
            self.shared.fold_budget();
            self.fold_at = now + HALF_WINDOW;
        }
        if let Some(snapshot) = self.merger.due(now) {
            self.apply(snapshot, true).await;
        }
        if self.detector.deadline().is_some_and(|at| at <= now) {
            self.outliers_due(now).await;
        }
        if self.prepare_at.is_some_and(|at| at <= now) {
            self.prepare_at = None;
            self.prepared_at = Some(now);
            self.prepare_routes().await;
        }
    }

    /// Makes a snapshot the one that requests see.
    async fn apply(&mut self, snapshot: Arc<Snapshot>, known: bool) {
        let before = self.shared.cell.load_full();
        let previous = before.as_ref().map(|state| &*state.seats);
        let seats: Arc<[Arc<Seat>]> = self.table.seat(&snapshot, previous.unwrap_or(&[])).into();
        let (total, healthy) = publish::takers(&snapshot);
        let member = |identity: &NodeIdentity| {
            let instance = snapshot.get(identity.id().as_str())?;
            (instance.takes_traffic() && NodeIdentity::of(instance) == *identity)
                .then(|| instance.is_healthy())
        };
        let returned = self.detector.resize(total, healthy, member, now());
        self.mark(&returned, false);
        // An instance that comes back before its ejection is over has a new node.
        let ejected: Vec<_> = self
            .detector
            .recorded()
            .filter(|identity| self.detector.is_ejected(identity))
            .cloned()
            .collect();
        self.mark(&ejected, true);
        self.ask_again();
        self.publish(snapshot, seats, known).await;
    }

    /// Publishes the same instances with what changed around them.
    async fn republish(&mut self) {
        if let Some(state) = self.shared.cell.load_full() {
            let snapshot = Arc::clone(state.view.snapshot());
            self.publish(snapshot, Arc::clone(&state.seats), state.known)
                .await;
        }
    }

    async fn publish(&mut self, snapshot: Arc<Snapshot>, seats: Arc<[Arc<Seat>]>, known: bool) {
        let before = self
            .shared
            .cell
            .load()
            .as_ref()
            .map(|state| Arc::clone(&state.view));
        let tags = self.routes.tags();
        let points = self.shared.config.ring().points_per_instance() as usize;
        let work = snapshot.len().saturating_mul(points + 4 * tags.len());
        let plan = Plan {
            before: before.clone(),
            config: self.view_config(),
            snapshot,
            tags,
            seats: Arc::clone(&seats),
        };
        let view = if work > INLINE_WORK {
            let beside = tokio::task::spawn_blocking(|| plan.build());
            beside.await.map_err(|error| error.to_string())
        } else {
            guarded(|| plan.build())
        };
        let view = match view {
            Ok(view) => view,
            Err(error) => {
                error!(%error, "a view could not be built, the last one stays");
                self.report.failed_builds += 1;
                return;
            }
        };
        let view = Arc::new(view);
        let published = self.shared.cell.publish(Published {
            view: Arc::clone(&view),
            seats,
            known,
        });
        if published {
            publish::log(before.as_deref(), &view);
        }
        self.answered.send_if_modified(|answered| {
            let first = !*answered;
            *answered = true;
            first
        });
    }

    fn view_config(&self) -> ViewConfig {
        let mut config = ViewConfig::default();
        config.ring = self.shared.config.ring().clone();
        config.routing = self.shared.config.routing().clone();
        config.panic_threshold = self.shared.config.panic_threshold();
        config
    }

    /// Judges all nodes whose reports are there, so that many ejections make one view.
    async fn failing(&mut self, first: NodeIdentity) {
        let mut changed = self.judge(first);
        while let Ok(next) = self.failures.try_recv() {
            changed |= self.judge(next);
        }
        if changed {
            self.republish().await;
        }
    }

    /// Decides on a node that keeps failing; true if it is ejected now.
    fn judge(&mut self, identity: NodeIdentity) -> bool {
        let Some(node) = self.table.get(&identity) else {
            return false;
        };
        let state = self.shared.cell.load_full();
        let instance = state
            .as_ref()
            .and_then(|state| state.view.snapshot().get(identity.id().as_str()))
            .filter(|instance| NodeIdentity::of(instance) == identity);
        let Some(instance) = instance.filter(|instance| instance.takes_traffic()) else {
            node.failure_handled();
            return false;
        };
        let healthy = instance.is_healthy();
        match self
            .detector
            .failing(&identity, healthy, fastrand::f64(), now())
        {
            Verdict::Ejected { length, times } => {
                node.set_ejected(true);
                node.failure_handled();
                self.report.ejections += 1;
                let (instance, address) = (identity.id(), node.address());
                info!(%instance, %address, ?length, times, "instance ejected");
                true
            }
            Verdict::AtLimit => {
                debug!(instance = %identity.id(), "failing instance stays, the limit is reached");
                self.report.ejections_refused += 1;
                self.refused.push(identity);
                false
            }
            Verdict::AlreadyEjected => {
                node.failure_handled();
                false
            }
        }
    }

    async fn outliers_due(&mut self, now: Instant) {
        let recorded: Vec<_> = self.detector.recorded().cloned().collect();
        for identity in recorded {
            if let Some(node) = self.table.get(&identity).filter(|node| !node.is_ejected()) {
                self.detector.succeeded(&identity, node.take_successes());
            }
        }
        let returned = self.detector.due(now);
        if !returned.is_empty() {
            self.mark(&returned, false);
            self.ask_again();
            self.republish().await;
        }
    }

    fn mark(&self, identities: &[NodeIdentity], ejected: bool) {
        for identity in identities {
            let node = self.table.get(identity);
            if node.is_some_and(|node| node.set_ejected(ejected)) && !ejected {
                info!(instance = %identity.id(), "ejection is over");
            }
        }
    }

    /// The limits may allow more now.
    fn ask_again(&mut self) {
        for identity in self.refused.drain(..) {
            if let Some(node) = self.table.get(&identity) {
                node.failure_handled();
            }
        }
    }

    async fn prepare_routes(&mut self) {
        if let Some(state) = &*self.shared.cell.load() {
            self.routes.note_used(&state.view);
        }
        let evicted = self.routes.evicted();
        if self.routes.prepare(self.shared.wishes.take()) {
            if self.routes.evicted() > evicted && evicted == 0 {
                warn!("more different request tags than max_pools, the least recently used go");
            }
            self.republish().await;
        }
    }

    fn update_report(&mut self) {
        self.report.watch = self.supervisor.status().clone();
        self.report.merged = self.merger.merged();
        self.report.pools_prepared = self.routes.prepared();
        self.report.pools_evicted = self.routes.evicted();
        self.shared.set_report(self.report.clone());
    }
}

/// A fault in one build must not end the task: membership would stay as it is for ever.
fn guarded<T>(build: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(build)).map_err(|panic| {
        let text = panic.downcast_ref::<&str>().map(ToString::to_string);
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        text.unwrap_or_else(|| "panic".to_owned())
    })
}

/// All that a view is made of.
struct Plan {
    before: Option<Arc<View>>,
    config: ViewConfig,
    snapshot: Arc<Snapshot>,
    tags: Vec<RequestTags>,
    seats: Arc<[Arc<Seat>]>,
}

impl Plan {
    fn build(self) -> View {
        let is_out = |index: usize| {
            let seat = self.seats.get(index);
            seat.is_some_and(|seat| seat.node.is_ejected())
        };
        match self.before {
            Some(before) => before.next(self.snapshot, self.tags, is_out),
            None => View::first(self.config, self.snapshot, is_out),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_error() {
        assert_eq!(guarded(|| 7), Ok(7));
        assert_eq!(
            guarded(|| panic!("at {}", 7)),
            Err::<(), _>("at 7".to_owned())
        );
        assert_eq!(guarded(|| panic!("at")), Err::<(), _>("at".to_owned()));
    }
}

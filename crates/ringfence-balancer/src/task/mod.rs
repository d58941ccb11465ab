//! The one task of a balancer: it owns all state that changes.

mod changes;
mod checks;
mod damping;
mod movement;
mod newcomers;
mod outliers;
mod policies;
mod probing;
mod publishing;
mod runner;
mod telling;
mod warm_ups;

use std::{
    future::pending,
    sync::Arc,
    time::{Duration, Instant},
};

use ringfence_core::{
    FlapDamper, Newcomers, OutlierDetector, RetryBudget, SlowStart, Snapshot, View,
};
use ringfence_discovery::{Event, Supervisor};
use tokio::{
    sync::{mpsc, watch},
    task::yield_now,
    time::{Instant as TokioInstant, sleep_until},
};
use tracing::warn;

pub(crate) use self::{checks::Checks, outliers::OutlierCounts, probing::Prober};
use self::{checks::next_check, probing::answer, publishing::Plan, warm_ups::WarmUps};
use crate::{
    CompiledPolicy, WarmUp,
    merge::Merger,
    node::{NodeIdentity, NodeTable, Report, report_channel},
    reload::Reloader,
    routes::RouteCache,
    shared::{Shared, TaskReport},
};

/// New tags are prepared at most this often, so that a flood of them cannot keep the task busy.
const PREPARE_INTERVAL: Duration = Duration::from_millis(100);
/// After each time, the task has this many times as long for everything else.
const PREPARE_REST: u32 = 9;

pub(crate) struct Task {
    shared: Arc<Shared>,
    supervisor: Supervisor,
    merger: Merger<Arc<Snapshot>>,
    table: NodeTable,
    /// Replaced in a test that needs a fault in it.
    build: fn(Plan) -> View,
    detector: OutlierDetector<NodeIdentity>,
    reports: mpsc::Receiver<Report>,
    /// Nodes that keep failing but must stay in for now; asked again when the limits may allow more.
    refused: Vec<NodeIdentity>,
    /// The log knows that the limits are reached.
    limit_told: bool,
    /// When success rates and failure percentages are judged next, if they are.
    sweep_at: Option<Instant>,
    prober: Option<Prober>,
    /// Asks the instances themselves, where the balancer was told to.
    checks: Option<Checks>,
    damper: Option<FlapDamper<NodeIdentity>>,
    /// The policy in force.
    policy: Option<Arc<CompiledPolicy>>,
    /// Those that are set.
    policies: watch::Receiver<Option<Arc<CompiledPolicy>>>,
    /// Reads more of them.
    reloader: Option<Reloader>,
    newcomers: Newcomers<NodeIdentity>,
    slow_start: SlowStart<NodeIdentity>,
    warm_ups: WarmUps,
    routes: RouteCache,
    prepare_at: Option<Instant>,
    prepare_not_before: Option<Instant>,
    fold_at: Instant,
    counted_at: Instant,
    /// When the registry told of what waits to be applied.
    heard_at: Option<Instant>,
    report: TaskReport,
    /// Whether the registry has answered. The last field: when its receivers see it go, the watch
    /// and its sockets are gone.
    answered: watch::Sender<bool>,
}

fn now() -> Instant {
    TokioInstant::now().into_std()
}

/// Waits for ever where there is no source.
async fn next_policy(reloader: &mut Option<Reloader>) -> Option<Arc<CompiledPolicy>> {
    match reloader {
        Some(reloader) => reloader.next().await,
        None => pending().await,
    }
}

impl Task {
    pub(crate) fn new(
        shared: Arc<Shared>,
        supervisor: Supervisor,
        reloader: Option<Reloader>,
        prober: Option<Prober>,
        answered: watch::Sender<bool>,
    ) -> Self {
        let config = &shared.config;
        let mut policies = shared.policies.subscribe();
        let policy = policies.borrow_and_update().clone();
        let outlier = *config.outlier();
        let (sender, reports) = report_channel(outlier);
        let sweeps = outlier.counts_rates();
        Self {
            supervisor,
            merger: Merger::new(config.update_merge_window(), config.max_merge_delay()),
            build: Plan::build,
            table: NodeTable::new(sender, Arc::clone(&shared.nodes), shared.index.clone()),
            detector: OutlierDetector::new(outlier),
            reports,
            refused: Vec::new(),
            limit_told: false,
            sweep_at: sweeps.then(|| now() + outlier.interval()),
            prober,
            checks: None,
            damper: config.flap_damping().copied().map(FlapDamper::new),
            policy,
            policies,
            reloader,
            newcomers: Newcomers::default(),
            slow_start: SlowStart::new(*config.slow_start()),
            warm_ups: WarmUps::new(None),
            routes: RouteCache::new(config.max_pools()),
            prepare_at: None,
            prepare_not_before: None,
            fold_at: now() + RetryBudget::FOLD_INTERVAL,
            counted_at: now(),
            heard_at: None,
            report: TaskReport::default(),
            answered,
            shared,
        }
    }

    pub(crate) fn with_warm_up(mut self, warm_up: Option<(Arc<dyn WarmUp>, Duration)>) -> Self {
        self.warm_ups = WarmUps::new(warm_up);
        self
    }

    pub(crate) fn with_checks(mut self, checks: Option<Checks>) -> Self {
        self.checks = checks;
        self
    }

    pub(crate) async fn run(mut self) {
        self.shared.start.wanted().await;
        loop {
            let deadline = TokioInstant::from_std(self.deadline());
            let awaits_policy = self
                .reloader
                .as_ref()
                .is_some_and(Reloader::awaits_first_word);
            tokio::select! {
                // What is due first: it moves its own deadline on, so it cannot starve the rest, while
                // a registry that never stops talking could starve it. Then failing instances, which
                // hurt requests now; each node has at most one report here, and one probe. Then results of checks and
                // instances that are warm, of which only so many run. Then a new policy, of which the newest alone counts.
                // Then the registry, which waits for the first word of the policy's source, and that source. The wishes of
                // requests last: whoever sends many tags must not delay a removal.
                biased;
                () = sleep_until(deadline) => self.timers().await,
                Some(report) = self.reports.recv() => self.reported(report).await,
                (identity, serves) = answer(&mut self.prober) => self.probed(identity, serves).await,
                checked = next_check(&mut self.checks) => self.checked(checked).await,
                ended = self.warm_ups.next() => self.warmed(ended).await,
                Ok(()) = self.policies.changed() => self.policy_set().await,
                event = self.supervisor.next(), if !awaits_policy => self.event(event).await,
                policy = next_policy(&mut self.reloader) => self.policy_read(policy),
                () = self.shared.wishes.arrived(), if self.prepare_at.is_none() => {
                    self.prepare_at = Some(self.prepare_not_before.unwrap_or_else(now));
                }
            }
            self.update_probing();
            self.update_report();
            // A source that is always ready must not keep the thread for itself.
            yield_now().await;
        }
    }

    fn deadline(&self) -> Instant {
        [
            Some(self.fold_at),
            Some(self.counted_at + telling::INTERVAL),
            self.merger.deadline(),
            self.detector.deadline(),
            self.sweep_at,
            self.probing_deadline(),
            self.slow_start.deadline(),
            self.checks.as_ref().and_then(Checks::deadline),
            damping::deadline(self.damper.as_ref()),
            self.prepare_at,
            self.shared.movement.load().deadline(),
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
                    changes::urgency(self.shared.cell.load().as_deref(), &accepted.snapshot);
                self.heard_at.get_or_insert_with(now);
                if let Some(snapshot) = self.merger.offer(accepted.snapshot, urgency, now()) {
                    self.apply(snapshot, true).await;
                } else if self.merger.deadline().is_none() {
                    self.heard_at = None;
                }
            }
            Event::NoSuchService => {
                self.merger.clear();
                self.heard_at.get_or_insert_with(now);
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
            self.fold_at = now + RetryBudget::FOLD_INTERVAL;
        }
        if self.counted_at + telling::INTERVAL <= now {
            self.count_load(now);
        }
        if let Some(snapshot) = self.merger.due(now) {
            self.apply(snapshot, true).await;
        }
        if self.detector.deadline().is_some_and(|at| at <= now) {
            self.outliers_due(now).await;
        }
        self.start_checks();
        if damping::deadline(self.damper.as_ref()).is_some_and(|at| at <= now) {
            self.damping_due().await;
        }
        self.forget_movements(now);
        if self.sweep_at.is_some_and(|at| at <= now) {
            self.sweep_at = Some(now + self.shared.config.outlier().interval());
            self.sweep(now).await;
        }
        self.probes_due(now);
        if self.slow_start.deadline().is_some_and(|at| at <= now) {
            self.hold_slow_starts(now);
        }
        if self.slow_start.step(now) {
            self.republish().await;
        }
        if self.prepare_at.is_some_and(|at| at <= now) {
            self.prepare_at = None;
            self.prepare_routes().await;
            let done = self::now();
            let took = done.saturating_duration_since(now);
            self.prepare_not_before = Some(done + PREPARE_INTERVAL.max(took * PREPARE_REST));
        }
    }

    async fn prepare_routes(&mut self) {
        if let Some(state) = &*self.shared.cell.load() {
            self.routes.note_used(&state.view);
        }
        let evicted = self.routes.evicted();
        if self.routes.prepare(self.shared.wishes.take()) {
            if self.routes.evicted() > evicted && evicted == 0 {
                warn!(service = %self.shared.service, "more different request tags than max_pools, the least recently used go");
            }
            self.republish().await;
        }
    }

    fn update_report(&mut self) {
        self.report.watch = self.supervisor.status().clone();
        self.report.policy_source = self.reloader.as_ref().map(|r| r.status().clone());
        self.report.starting_slowly = self.slow_start.len();
        self.report.checked = self.checks.as_ref().map_or(0, Checks::len);
        self.report.merged = self.merger.merged();
        self.report.routes_prepared = self.routes.prepared();
        self.report.routes_evicted = self.routes.evicted();
        self.shared.set_report(self.report.clone());
    }
}

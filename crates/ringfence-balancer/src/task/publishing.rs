//! From a snapshot to the state that requests read.

mod plan;
#[cfg(test)]
mod tests;

use std::{sync::Arc, time::Instant};

use ringfence_core::Snapshot;
use ringfence_discovery::ServiceKey;
use tracing::{error, warn};

pub(super) use self::plan::Plan;
use self::plan::guarded;
use super::{Task, changes, newcomers::mark_presence, now, policies::same as same_policy};
use crate::{
    CompiledPolicy,
    lints::Lints,
    node::{NodeIdentity, Seat},
    pick::is_plain,
    published::Published,
    telemetry::BalancerEvent,
};

/// Views with more work than this (about one unit for each point or judged member) are built
/// beside the runtime, so that a single-threaded one goes on serving.
const INLINE_WORK: usize = 200_000;

impl Task {
    /// Makes a snapshot the one that requests see.
    pub(super) async fn apply(&mut self, snapshot: Arc<Snapshot>, service_exists: bool) {
        let before = self.shared.cell.load_full();
        let previous = before.as_ref().map(|state| &*state.seats);
        let seats: Arc<[Arc<Seat>]> = self.table.seat(&snapshot, previous.unwrap_or(&[])).into();
        if let Some(checks) = &mut self.checks {
            checks.follow(&seats, now());
        }
        self.count_transitions(before.as_ref().map(|state| &*state.view), &snapshot);
        let (total, healthy) = changes::takers(&snapshot);
        let member = |identity: &NodeIdentity| {
            let instance = snapshot.get(identity.id().as_str())?;
            (instance.takes_traffic() && NodeIdentity::of(instance) == *identity)
                .then(|| instance.is_healthy())
        };
        let events = self.detector.resize(total, healthy, member, now());
        self.enact_all(&events);
        // An instance that comes back before all is forgiven has a new node.
        for (identity, state) in self.detector.recorded_members() {
            if let Some(node) = self.table.get(identity) {
                node.set_state(Some(state));
                node.set_term(self.detector.term(identity));
            }
        }
        self.ask_again();
        self.welcome(&seats);
        let heard = self.heard_at.take();
        if self
            .publish(snapshot, Arc::clone(&seats), service_exists, heard)
            .await
        {
            mark_presence(previous.unwrap_or(&[]), &seats);
        }
    }

    /// Publishes the same instances with what changed around them; whether it could.
    pub(super) async fn republish(&mut self) -> bool {
        let Some(state) = self.shared.cell.load_full() else {
            return false;
        };
        let snapshot = Arc::clone(state.view.snapshot());
        self.publish(
            snapshot,
            Arc::clone(&state.seats),
            state.service_exists,
            None,
        )
        .await
    }

    async fn publish(
        &mut self,
        snapshot: Arc<Snapshot>,
        seats: Arc<[Arc<Seat>]>,
        service_exists: bool,
        heard: Option<Instant>,
    ) -> bool {
        self.save_the_last(&seats);
        self.damp(&seats);
        let before = self
            .shared
            .cell
            .load()
            .as_ref()
            .map(|state| Arc::clone(&state.view));
        let snapshot = self.with_ring_weights(&snapshot);
        let (routes, policy) = (self.routes.keys(), self.policy.clone());
        let plans = policy.as_ref().map(|policy| policy.plans().clone());
        let plans = plans.unwrap_or_default();
        let ring = policy.as_ref().and_then(|policy| policy.ring());
        let ring = ring.unwrap_or(self.shared.config.ring()).clone();
        let rings = ring.expected_entries(&snapshot);
        let judged = snapshot.len().saturating_mul(4 * routes.len());
        let work = rings.saturating_mul(1 + plans.len()).saturating_add(judged);
        let plan = Plan {
            before: before.clone(),
            config: self.shared.config.view().clone().with_ring(ring),
            plans,
            snapshot,
            routes,
            seats: Arc::clone(&seats),
        };
        let build = self.build;
        let began = now();
        let view = if work > INLINE_WORK {
            let beside = tokio::task::spawn_blocking(move || build(plan));
            beside.await.map_err(|error| error.to_string())
        } else {
            guarded(|| build(plan))
        };
        let view = match view {
            Ok(view) => view,
            Err(error) => {
                error!(service = %self.shared.service, %error, "a view could not be built, the last one stays");
                self.report.failed_builds += 1;
                self.shared.calls.event(&BalancerEvent::ViewFailed);
                return false;
            }
        };
        let took = now().saturating_duration_since(began);
        // Whoever sees the view finds in the status what the source said of it.
        self.update_report();
        let view = Arc::new(view);
        let is_new = policy
            .clone()
            .filter(|_| !self.is_published(policy.as_ref()));
        if let Some(before) = &before {
            self.remember_movement(before, &view);
        }
        if let Some(policy) = &is_new {
            self.shared.calls.expect(policy);
        }
        let published = self.shared.cell.publish(Published {
            is_plain: is_plain(&self.shared.config, &view),
            view: Arc::clone(&view),
            lints: self.lints_for(policy.as_ref()),
            policy,
            seats,
            service_exists,
        });
        if published {
            let moved = self.measure_movement(before.as_ref(), &view).await;
            changes::log(&self.shared.service, before.as_deref(), &view, moved);
            self.tell_of_view(before.as_deref(), &view, moved, took, heard);
            if let Some(policy) = is_new {
                self.shared.calls.follow(&policy);
                warn_of(&self.shared.service, &policy);
            }
        }
        self.answered.send_if_modified(|answered| {
            let first = !*answered;
            *answered = true;
            first
        });
        published
    }

    fn is_published(&self, policy: Option<&Arc<CompiledPolicy>>) -> bool {
        let state = self.shared.cell.load();
        let published = state.as_ref().and_then(|state| state.policy.as_ref());
        same_policy(published, policy)
    }

    fn lints_for(&self, policy: Option<&Arc<CompiledPolicy>>) -> Arc<Lints> {
        let state = self.shared.cell.load();
        let same = state
            .as_ref()
            .filter(|state| same_policy(state.policy.as_ref(), policy));
        same.map_or_else(
            || {
                // One more for requests that no rule of the document matches.
                let rules = policy.map_or(0, |policy| policy.document().rules.len() + 1);
                Arc::new(Lints::new(rules))
            },
            |state| Arc::clone(&state.lints),
        )
    }
}

/// Says what in a policy has no effect, when it comes into force.
fn warn_of(service: &ServiceKey, policy: &CompiledPolicy) {
    const TOLD: usize = 16;
    let warnings = policy.warnings();
    for warning in warnings.iter().take(TOLD) {
        warn!(%service, %warning, "a part of the policy has no effect");
    }
    if let Some(more @ 1..) = warnings.len().checked_sub(TOLD) {
        warn!(%service, more, "more parts of the policy have no effect");
    }
}

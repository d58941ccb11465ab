//! What a supervisor makes of what its watch and its reads bring.

use std::{
    sync::Arc,
    task::{Context, Poll},
};

use tokio::time::Instant;

use super::{
    Env, Supervisor,
    ledger::{Ended, Reading, Verdict},
    rejects, round,
};
use crate::{
    Accepted, DiscoveryError, Event, HoldReason, HoldStatus, LossProbes, Provenance, ServiceState,
    Update,
};

impl Supervisor {
    pub(super) fn poll_watch(&mut self, cx: &mut Context<'_>, now: Instant) -> bool {
        let mark = self.ledger.mark();
        let drained = self.subscription.poll(cx, mark, round!(self, now));
        let counters = &mut self.status.counters;
        counters.superseded += drained.superseded;
        counters.watch_errors += drained.errors.total();
        counters.errors.add(drained.errors);
        counters.watch_restarts += u64::from(drained.closed);
        let heard = drained.newest.is_some();
        if heard {
            self.missed_by_watch = 0;
        }
        if let Some(failure) = drained.failure {
            self.on_watch_failure(failure);
        } else if heard && self.status.watch_error.take().is_some() {
            tracing::info!(service = %self.service, source = self.source.name(), "watch recovered");
            self.status_changed = true;
        }
        if let Some((update, reading)) = drained.newest {
            self.on_contact(now);
            if self.take_reading(update, reading, now) == Verdict::Outdated {
                self.reader.on_contradiction(now);
            }
        }
        heard || drained.closed || drained.more
    }

    fn on_watch_failure(&mut self, failure: Arc<DiscoveryError>) {
        let known = self.status.watch_error.as_ref();
        let news = known.is_none_or(|known| {
            (known.kind(), known.message()) != (failure.kind(), failure.message())
        });
        if news {
            tracing::warn!(
                service = %self.service,
                kind = %failure.kind(),
                error = %failure,
                "watch failed, and is tried again; the last good state, if there is one, stays in use"
            );
            self.status.watch_error = Some(failure);
            self.status_changed = true;
        }
    }

    pub(super) fn poll_reader(&mut self, cx: &mut Context<'_>, now: Instant) -> bool {
        let mark = self.ledger.mark();
        match self.reader.poll(cx, mark, round!(self, now)) {
            Poll::Pending => false,
            Poll::Ready(Err(error)) => {
                tracing::debug!(service = %self.service, error = %error, "read failed");
                self.status.counters.fetch_errors += 1;
                self.status.counters.errors.count(error.kind());
                self.status.fetch_error = Some(error);
                true
            }
            Poll::Ready(Ok((update, sent))) => {
                self.status.counters.reads += 1;
                self.status.fetch_error = None;
                self.on_contact(now);
                let verdict = self.take_reading(update, Reading::Fetch(sent), now);
                let settled = verdict != Verdict::Outdated;
                self.reader.on_success(settled, round!(self, now));
                if matches!(verdict, Verdict::Accepted { changed: true, .. }) {
                    self.on_unannounced_change(now);
                }
                true
            }
        }
    }

    /// A watch that misses a change may only be late; one that misses two is dead.
    fn on_unannounced_change(&mut self, now: Instant) {
        if !self.subscription.is_open() {
            return;
        }
        self.missed_by_watch += 1;
        if self.missed_by_watch >= 2 {
            tracing::warn!(service = %self.service, source = self.source.name(), "the watch is silent; watching anew");
            self.missed_by_watch = 0;
            self.status.counters.watch_restarts += 1;
            self.subscription.close(round!(self, now));
        }
    }

    pub(super) fn take_reading(
        &mut self,
        update: Update,
        reading: Reading,
        now: Instant,
    ) -> Verdict {
        #[cfg(feature = "disk")]
        if self.put_off(&update, reading, now) {
            return Verdict::StillHeld;
        }
        let verdict = self.ledger.offer(&update, reading, now);
        let counters = &mut self.status.counters;
        if verdict == Verdict::Outdated {
            counters.outdated += 1;
            return verdict;
        }
        self.status.revision = self.ledger.revision();
        if *self.status.rejected != *update.rejected {
            counters.rejected_records += update.rejected.len() as u64;
            let before = &self.status.rejected;
            rejects::log(&self.service, self.source.name(), before, &update.rejected);
            self.status.rejected = update.rejected.into();
        }
        match verdict {
            Verdict::Held { reason, until } => {
                tracing::warn!(service = %self.service, %reason, "suspicious state held back");
                counters.held += 1;
                let by_reason = match reason {
                    HoldReason::Empty => &mut counters.held_empty,
                    HoldReason::NoSuchService => &mut counters.held_no_such_service,
                    HoldReason::MassLoss { .. } => &mut counters.held_mass_loss,
                };
                *by_reason += 1;
                self.reader.on_hold(now, until);
                self.note_lost(&update.state, Some(now));
            }
            Verdict::Accepted { changed, ended } => {
                if let Some(ended) = ended {
                    self.on_hold_ended(ended, now);
                }
                #[cfg(feature = "disk")]
                self.keep_on_disk(&update.state, &update.provenance, changed, now);
                if changed {
                    self.tell_if_empty_at_first(&update.state);
                    let confirmed = match ended {
                        Some(Ended::Confirmed(reason)) => Some(reason),
                        Some(Ended::Released(_)) | None => None,
                    };
                    self.accept(update.state, update.provenance, confirmed);
                } else {
                    self.status.counters.unchanged += 1;
                    self.status.provenance = Some(update.provenance);
                }
            }
            Verdict::StillHeld => self.note_lost(&update.state, None),
            Verdict::Outdated => {}
        }
        self.show_hold();
        verdict
    }

    /// An empty list is also what a misspelt name looks like, and some registries answer credentials that are missing by it.
    fn tell_if_empty_at_first(&self, state: &ServiceState) {
        let is_empty = matches!(state, ServiceState::Instances(list) if list.is_empty());
        // Rejected records are told of by themselves.
        if is_empty && self.status.rejected.is_empty() && self.status.counters.accepted == 0 {
            tracing::warn!(
                service = %self.service, source = self.source.name(),
                "the registry lists no instance of the service; check the name, and whether the credentials may read it"
            );
        }
    }

    fn on_hold_ended(&mut self, ended: Ended, now: Instant) {
        self.reader.on_hold_ended(now);
        if let Some(LossProbes { asked, answered }) = self.probes_of_loss()
            && answered * 2 > asked
            && matches!(ended, Ended::Confirmed(_))
        {
            tracing::warn!(service = %self.service, asked, answered, "the registry is believed, although lost instances still answer");
        }
        self.end_inquiry();
        match ended {
            Ended::Confirmed(reason) => {
                tracing::warn!(service = %self.service, %reason, "loss confirmed");
                self.status.counters.confirmed += 1;
            }
            Ended::Released(reason) => {
                tracing::info!(service = %self.service, %reason, "false loss dropped");
                self.status.counters.released += 1;
            }
        }
    }

    pub(super) fn accept(
        &mut self,
        state: ServiceState,
        provenance: Provenance,
        confirmed_loss: Option<HoldReason>,
    ) {
        self.status.counters.accepted += 1;
        self.status.provenance = Some(provenance.clone());
        self.status.duplicates = state.as_snapshot().map_or(0, |s| s.duplicates());
        self.change = Some(match state {
            ServiceState::NoSuchService => {
                tracing::warn!(service = %self.service, source = self.source.name(), "the source knows no such service");
                Event::NoSuchService
            }
            ServiceState::Instances(snapshot) => Event::Snapshot(Accepted {
                snapshot,
                revision: self.status.revision,
                provenance,
                confirmed_loss,
            }),
        });
    }

    /// A hold that begins or ends is an event; one whose reason changes on the way is not.
    pub(super) fn show_hold(&mut self) {
        let probes = self.probes_of_loss();
        let held = self.ledger.hold().map(|hold| HoldStatus {
            reason: hold.reason,
            since: hold.since.into_std(),
            until: hold.until.into_std(),
            probes,
        });
        self.status_changed |= held.is_some() != self.status.held.is_some();
        self.status.held = held;
    }

    fn on_contact(&mut self, now: Instant) {
        self.status.last_contact = Some(now.into_std());
        self.reader.on_contact(round!(self, now));
        if self.status.stale_since.take().is_some() {
            tracing::info!(service = %self.service, source = self.source.name(), "registry is back; data is fresh");
            self.status_changed = true;
        }
    }

    pub(super) fn stale_at(&self) -> Option<Instant> {
        if self.status.is_stale() {
            return None;
        }
        let last_contact = self.status.last_contact.map(Instant::from_std);
        let since = last_contact.or(self.started)?;
        Some(since + self.config.stale_after()?)
    }

    pub(super) fn check_staleness(&mut self, now: Instant) {
        if self.stale_at().is_some_and(|at| at <= now) {
            tracing::warn!(service = %self.service, source = self.source.name(), "no contact with the registry; data is stale and stays in use");
            self.status.stale_since = Some(now.into_std());
            self.status.counters.stale += 1;
            self.status_changed = true;
        }
    }
}

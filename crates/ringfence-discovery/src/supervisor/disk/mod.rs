//! The copy on disk: bridges the start, and is kept up to date.

mod bridge;
mod keeper;

use std::{
    sync::Arc,
    task::{Context, Poll},
};

use tokio::time::Instant;

use self::{
    bridge::{Advice, Bridge},
    keeper::Keeper,
};
use super::{Env, Supervisor, ledger::Reading, round};
use crate::{
    Provenance, ServiceState, Update,
    disk::{DiskCopy, Store},
};

pub(super) struct Disk {
    store: Arc<Store>,
    bridge: Bridge,
    keeper: Keeper,
}

impl Supervisor {
    /// Begins to read the copy.
    pub(super) fn start_disk(&mut self, now: Instant) {
        let Some(config) = self.config.disk_snapshots() else {
            return;
        };
        // A source that panics here has told so in the log; it has no file then.
        let env = round!(self, now);
        let Ok(registry) = env.guarded(|| env.source.registry()) else {
            return;
        };
        let store = Arc::new(Store::new(config, registry, self.service.clone()));
        self.disk = Some(Disk {
            bridge: Bridge::new(Arc::clone(&store), config, now),
            keeper: Keeper::new(self.service.clone(), Arc::clone(&store), config),
            store,
        });
    }

    /// Carries on with the file jobs, and uses the copy when it is time.
    pub(super) fn poll_disk(&mut self, cx: &mut Context<'_>, now: Instant) -> bool {
        let Some(disk) = &mut self.disk else {
            return false;
        };
        disk.keeper.poll(cx, now, &mut self.status.counters);
        let file = disk.store.file().display();
        match disk.bridge.poll_read(cx, now) {
            Poll::Ready(Err(reason)) => {
                tracing::warn!(service = %self.service, %file, %reason, "copy on disk ignored");
                self.status.counters.disk_rejected += 1;
            }
            // Also after the registry's address is written in another way, which is hard to find out otherwise.
            Poll::Ready(Ok(false)) => {
                let registry = disk.store.registry();
                tracing::info!(service = %self.service, registry, %file, "no copy on disk");
            }
            Poll::Ready(Ok(true)) | Poll::Pending => {}
        }
        if self.ledger.has_state() {
            disk.bridge.retire();
            return false;
        }
        if let Some((update, reading)) = disk.bridge.take_empty(now) {
            self.take_reading(update, reading, now);
            return true;
        }
        let failed = self.status.watch_error.is_some() || self.status.fetch_error.is_some();
        match disk.bridge.take_due(failed, now) {
            Some(copy) => {
                self.adopt(copy, now);
                true
            }
            None => false,
        }
    }

    pub(super) fn disk_deadline(&self) -> Option<Instant> {
        let disk = self.disk.as_ref()?;
        if self.ledger.has_state() {
            disk.keeper.deadline()
        } else {
            disk.bridge.deadline()
        }
    }

    /// Whether a live state has to wait for the copy, which is put in its place first where it contradicts it.
    pub(super) fn put_off(&mut self, update: &Update, reading: Reading, now: Instant) -> bool {
        if self.ledger.has_state() {
            return false;
        }
        let Some(disk) = &mut self.disk else {
            return false;
        };
        match disk.bridge.on_live(update, reading, now) {
            Advice::Judge => false,
            Advice::Wait => true,
            Advice::JudgeAgainst(copy) => {
                self.adopt(copy, now);
                false
            }
        }
    }

    fn adopt(&mut self, copy: DiskCopy, now: Instant) {
        let source = self.source.name();
        let (age, instances) = (copy.age, copy.snapshot.len());
        tracing::warn!(service = %self.service, source, ?age, instances, "copy on disk in use until the registry shows instances");
        let provenance = Provenance::disk(source, age);
        let state = ServiceState::Instances(copy.snapshot);
        self.ledger.adopt_copy(state.clone());
        self.accept(state, provenance, None);
        if self.status.last_contact.is_none() && !self.status.is_stale() {
            self.status.stale_since = Some(now.into_std());
            self.status.counters.stale += 1;
            self.status_changed = true;
        }
    }

    /// A reading was accepted; a source that gave an old state confirmed nothing.
    pub(super) fn keep_on_disk(
        &mut self,
        state: &ServiceState,
        provenance: &Provenance,
        changed: bool,
        now: Instant,
    ) {
        if let Some(disk) = &mut self.disk
            && provenance.is_live()
        {
            disk.keeper.confirmed(state, changed, now);
        }
    }
}

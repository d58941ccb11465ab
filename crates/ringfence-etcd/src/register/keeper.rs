//! The task that keeps one record alive.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::sync::{oneshot, watch};

use super::{
    registration::RegistrationState,
    write::{self, Found},
};
use crate::connection::{Failure, Fault, Link, Pool, jittered};

const FIRST_WAIT: Duration = Duration::from_millis(100);
const MAX_WAIT: Duration = Duration::from_secs(5);

/// What etcd is to hold.
pub(super) struct Desired {
    /// Rises with every change.
    pub(super) number: u64,
    /// `None`: nothing, while the registration stays.
    pub(super) value: Option<Vec<u8>>,
}

/// The owner's ends of the channels.
pub(super) struct Handles {
    pub(super) desired: watch::Sender<Desired>,
    pub(super) state: watch::Receiver<RegistrationState>,
    /// Number of what etcd has confirmed last.
    pub(super) written: watch::Receiver<Option<u64>>,
    pub(super) stop: Option<oneshot::Sender<()>>,
}

pub(super) struct Keeper {
    pool: Arc<Pool>,
    key: String,
    desired: watch::Receiver<Desired>,
    state: watch::Sender<RegistrationState>,
    written: watch::Sender<Option<u64>>,
    stop: Option<oneshot::Receiver<()>>,
    lease: Option<i64>,
    /// Written with the lease of now.
    current: Option<u64>,
    /// Keeps the connection.
    link: Option<Arc<Link>>,
}

impl Keeper {
    pub(super) fn new(pool: Arc<Pool>, key: String, value: Option<Vec<u8>>) -> (Self, Handles) {
        let (desired_sender, desired) = watch::channel(Desired { number: 0, value });
        let (state, state_receiver) = watch::channel(RegistrationState::Starting);
        let (written, written_receiver) = watch::channel(None);
        let (stop_sender, stop) = oneshot::channel();
        let keeper = Self {
            pool,
            key,
            desired,
            state,
            written,
            stop: Some(stop),
            lease: None,
            current: None,
            link: None,
        };
        let handles = Handles {
            desired: desired_sender,
            state: state_receiver,
            written: written_receiver,
            stop: Some(stop_sender),
        };
        (keeper, handles)
    }

    /// Runs until it is told to stop. What was under way then may still have its effect, but only with a lease that is revoked
    /// next, or with one that nothing was written with.
    pub(super) async fn run(mut self) -> Self {
        let Some(stop) = self.stop.take() else {
            return self;
        };
        tokio::select! {
            biased;
            _ = stop => {}
            () = self.keep() => {}
        }
        self
    }

    async fn keep(&mut self) {
        let ttl = self.pool.config().lease_ttl;
        let mut failures = 0;
        loop {
            match self.ensure().await {
                Ok(()) => {
                    failures = 0;
                    self.set_state(RegistrationState::Registered);
                    tokio::select! {
                        () = tokio::time::sleep(jittered(ttl / 3)) => {}
                        changed = self.desired.changed() => if changed.is_err() { return },
                    }
                }
                Err(failure) => {
                    self.set_retrying(&failure);
                    let ceiling = FIRST_WAIT.saturating_mul(1 << failures.min(16));
                    let wait = ceiling.min(MAX_WAIT).mul_f64(fastrand::f64());
                    tokio::time::sleep(wait.max(Duration::from_millis(10))).await;
                    failures += 1;
                }
            }
        }
    }

    /// Makes etcd hold what it is to hold, under a lease that is alive.
    async fn ensure(&mut self) -> Result<(), Failure> {
        match self.renew_and_write().await {
            // It ended between two steps.
            Err(failure) if failure.fault == Fault::NoLease => {
                self.lease = None;
                self.renew_and_write().await
            }
            other => other,
        }
    }

    async fn renew_and_write(&mut self) -> Result<(), Failure> {
        if let Some(lease) = self.lease {
            match write::keep_alive(&self.pool, lease).await {
                Ok(link) => self.link = Some(link),
                Err(failure) if failure.fault == Fault::NoLease => {
                    tracing::info!(key = %self.key, "the lease of a registration is gone, registering anew");
                    self.lease = None;
                }
                Err(failure) => return Err(failure),
            }
        }
        let lease = match self.lease {
            Some(lease) => lease,
            None => {
                let (lease, link) = write::grant(&self.pool).await?;
                self.link = Some(link);
                self.current = None;
                *self.lease.insert(lease)
            }
        };
        let (number, value) = {
            let desired = self.desired.borrow_and_update();
            (desired.number, desired.value.clone())
        };
        match value {
            Some(value) if self.current == Some(number) => {
                match write::find_or_put(&self.pool, &self.key, &value, lease).await? {
                    Found::Own | Found::Missing => {}
                    Found::Other => {
                        tracing::debug!(key = %self.key, "another process has registered this key");
                    }
                    Found::Unleased => write::put(&self.pool, &self.key, &value, lease).await?,
                }
            }
            Some(value) => write::put(&self.pool, &self.key, &value, lease).await?,
            None if self.current == Some(number) => {}
            None => write::delete_own(&self.pool, &self.key, lease).await?,
        }
        self.current = Some(number);
        self.written.send_replace(Some(number));
        Ok(())
    }

    /// Takes the record away, with the lease that it lives by.
    pub(super) async fn remove(&mut self) -> Result<(), Failure> {
        if let Some(lease) = self.lease {
            write::revoke(&self.pool, lease).await?;
            self.lease = None;
        }
        Ok(())
    }

    fn set_state(&self, new: RegistrationState) {
        self.state.send_if_modified(|state| {
            let changed = *state != new;
            if changed {
                if matches!(state, RegistrationState::Retrying { .. }) {
                    tracing::info!(key = %self.key, "registered again");
                }
                *state = new;
            }
            changed
        });
    }

    fn set_retrying(&self, failure: &Failure) {
        let since = match &*self.state.borrow() {
            RegistrationState::Retrying { since, .. } => *since,
            _ => {
                tracing::warn!(key = %self.key, error = %failure.message, "registration fails, trying again");
                Instant::now()
            }
        };
        let reason = Arc::from(&*failure.message);
        self.set_state(RegistrationState::Retrying { since, reason });
    }
}

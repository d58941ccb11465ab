//! Calls to a cluster of several servers, each call with a deadline and a second server to turn to.

mod fault;
mod gate;
mod slot;

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use etcd_client::{Client, Error};
use tokio::time::timeout;

pub(crate) use self::{
    fault::{Failure, Fault},
    slot::{Link, Token},
};
use self::{gate::Gate, slot::Slot};
use crate::{EtcdConfig, EtcdConfigError};

/// The servers of a cluster, one of which is in use.
///
/// etcd's own client spreads calls over all servers, dead and frozen ones included; here a server that failed is left until
/// the others have failed too.
pub(crate) struct Pool {
    config: EtcdConfig,
    slots: Vec<Slot>,
    current: AtomicUsize,
    gate: Gate,
}

impl Pool {
    pub(crate) fn new(config: EtcdConfig) -> Result<Self, EtcdConfigError> {
        config.check()?;
        let slots: Vec<Slot> = (0..)
            .zip(&config.endpoints)
            .map(|(index, endpoint)| Slot::new(endpoint.clone(), index))
            .collect();
        Ok(Self {
            current: AtomicUsize::new(fastrand::usize(..slots.len())),
            slots,
            config,
            gate: Gate::default(),
        })
    }

    pub(crate) fn config(&self) -> &EtcdConfig {
        &self.config
    }

    /// Runs `op` on a server, and on the next one where that fails, until each was tried once.
    ///
    /// `op` may be run several times, even where an earlier run had its effect.
    pub(crate) async fn call<T, F, Fut>(
        &self,
        what: &str,
        mut op: F,
    ) -> Result<(T, Arc<Link>), Failure>
    where
        F: FnMut(Client) -> Fut,
        Fut: Future<Output = Result<T, Error>>,
    {
        self.gate.check()?;
        let mut last = None;
        for _ in 0..self.slots.len() {
            let index = self.current.load(Ordering::Relaxed) % self.slots.len();
            let Some(slot) = self.slots.get(index) else {
                break;
            };
            let mut attempt = Attempt {
                pool: self,
                index,
                answered: false,
            };
            let limit = self.config.request_timeout;
            let outcome = timeout(limit, self.once(slot, &mut op)).await;
            let failure = match outcome {
                Ok(Ok(done)) => {
                    attempt.answered = true;
                    self.gate.accepted();
                    return Ok(done);
                }
                Ok(Err(failure)) => failure,
                Err(_) => Failure::timed_out(what, limit),
            };
            if failure.fault != Fault::Node {
                attempt.answered = true;
                if matches!(failure.fault, Fault::Credentials | Fault::Token) {
                    // Connected clients keep their own copy of the password.
                    slot.forget().await;
                    self.gate.refused(&failure);
                }
                return Err(failure);
            }
            tracing::debug!(endpoint = index, error = %failure.message, "etcd server does not work");
            last = Some(failure);
        }
        Err(last.unwrap_or_else(|| Failure::new(Fault::Config, "there is no endpoint")))
    }

    async fn once<T, F, Fut>(&self, slot: &Slot, op: &mut F) -> Result<(T, Arc<Link>), Failure>
    where
        F: FnMut(Client) -> Fut,
        Fut: Future<Output = Result<T, Error>>,
    {
        let link = slot.link(&self.config).await?;
        let token = link.token();
        match op(link.client.clone()).await.map_err(Failure::from) {
            Ok(value) => Ok((value, link)),
            Err(failure) if failure.fault == Fault::Token && self.config.credentials.is_some() => {
                let link = slot.renew_token(&link, token, &self.config).await?;
                Ok((op(link.client.clone()).await?, link))
            }
            Err(failure) => Err(failure),
        }
    }

    /// A watch on this link was told that its token is not good. Returns the link to go on with.
    pub(crate) async fn renew_token(
        &self,
        link: &Arc<Link>,
        refused: Token,
    ) -> Result<Arc<Link>, Failure> {
        self.gate.check()?;
        let slot = self.slots.get(link.index);
        let Some(slot) = slot.filter(|_| self.config.credentials.is_some()) else {
            return Ok(Arc::clone(link));
        };
        let limit = self.config.request_timeout;
        let renewed = timeout(limit, slot.renew_token(link, refused, &self.config)).await;
        let renewed = renewed.unwrap_or_else(|_| Err(Failure::timed_out("logging in", limit)));
        if let Err(failure) = &renewed
            && matches!(failure.fault, Fault::Credentials | Fault::Token)
        {
            slot.forget().await;
            self.gate.refused(failure);
        }
        renewed
    }

    /// A watch was refused although its token is new: nothing is asked for a while.
    pub(crate) fn refused(&self, failure: &Failure) {
        self.gate.refused(failure);
    }

    /// A server failed: the next call goes to the one after it, unless that was so already.
    pub(crate) fn leave(&self, index: usize) {
        let next = (index + 1) % self.slots.len().max(1);
        let _ = self
            .current
            .compare_exchange(index, next, Ordering::Relaxed, Ordering::Relaxed);
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

/// A caller that gave up waiting counts as a failure of the server as well.
struct Attempt<'a> {
    pool: &'a Pool,
    index: usize,
    answered: bool,
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        if !self.answered {
            self.pool.leave(self.index);
        }
    }
}

/// A duration within a fifth of `around`, so that a fleet does not act in step.
pub(crate) fn jittered(around: Duration) -> Duration {
    around.mul_f64(0.8 + fastrand::f64() * 0.4)
}

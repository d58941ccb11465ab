//! The limit on calls in flight to the service, and the queue before it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, TryAcquireError},
    time::timeout,
};

use crate::{ConcurrencyLimits, Overload, PickError, shared::Shared};

/// A place among the calls in flight, from [`Balancer::admit`](crate::Balancer::admit); given back when it is dropped.
///
/// # Examples
/// See there.
#[derive(Debug)]
#[must_use = "the place is given back when this is dropped"]
pub struct Permit {
    /// `None` without a limit.
    _place: Option<OwnedSemaphorePermit>,
}

/// Lets calls in.
#[derive(Debug)]
pub(crate) struct Admission {
    /// `None` without a limit. Its waiters are served in the order in which they came, before anybody who did not wait.
    places: Option<Arc<Semaphore>>,
    most: usize,
    max_queued: usize,
    queue_timeout: Duration,
    queued: AtomicUsize,
    refused: AtomicU64,
    timed_out: AtomicU64,
}

/// Why a call was not let in.
enum Refusal {
    Overload(Overload),
    Closed,
}

/// A place in the queue.
struct Queued<'a>(&'a AtomicUsize);

impl Drop for Queued<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Admission {
    pub(crate) fn new(limits: &ConcurrencyLimits) -> Self {
        let most = limits.max_in_flight();
        Self {
            places: (most > 0).then(|| Arc::new(Semaphore::new(most))),
            most,
            max_queued: limits.max_queued(),
            queue_timeout: limits.queue_timeout(),
            queued: AtomicUsize::new(0),
            refused: AtomicU64::new(0),
            timed_out: AtomicU64::new(0),
        }
    }

    /// Ends all waiting.
    pub(crate) fn close(&self) {
        if let Some(places) = &self.places {
            places.close();
        }
    }

    async fn admit(&self) -> Result<Permit, Refusal> {
        let Some(places) = &self.places else {
            return Ok(Permit { _place: None });
        };
        match Arc::clone(places).try_acquire_owned() {
            Ok(place) => {
                return Ok(Permit {
                    _place: Some(place),
                });
            }
            Err(TryAcquireError::Closed) => return Err(Refusal::Closed),
            Err(TryAcquireError::NoPermits) => {}
        }
        let Some(queued) = self.queue() else {
            self.refused.fetch_add(1, Ordering::Relaxed);
            return Err(Refusal::Overload(Overload::QueueFull));
        };
        let place = timeout(self.queue_timeout, Arc::clone(places).acquire_owned()).await;
        drop(queued);
        match place {
            Ok(Ok(place)) => Ok(Permit {
                _place: Some(place),
            }),
            Ok(Err(_closed)) => Err(Refusal::Closed),
            Err(_elapsed) => {
                self.timed_out.fetch_add(1, Ordering::Relaxed);
                Err(Refusal::Overload(Overload::QueueTimeout(
                    self.queue_timeout,
                )))
            }
        }
    }

    fn queue(&self) -> Option<Queued<'_>> {
        let one_more = |queued| (queued < self.max_queued).then_some(queued + 1);
        let taken = self
            .queued
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more);
        taken.ok().map(|_| Queued(&self.queued))
    }

    pub(crate) fn admitted(&self) -> usize {
        let free = self.places.as_ref().map_or(0, |p| p.available_permits());
        self.most.saturating_sub(free)
    }

    pub(crate) fn queued(&self) -> usize {
        self.queued.load(Ordering::Relaxed)
    }

    pub(crate) fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    pub(crate) fn timed_out(&self) -> u64 {
        self.timed_out.load(Ordering::Relaxed)
    }
}

impl Shared {
    pub(crate) async fn admit(&self) -> Result<Permit, PickError> {
        self.admission.admit().await.map_err(|refusal| {
            let service = self.service.clone();
            match refusal {
                Refusal::Overload(overload) => PickError::Overloaded { service, overload },
                Refusal::Closed => PickError::ShutDown { service },
            }
        })
    }
}

use std::{
    collections::VecDeque,
    pin::Pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    task::{Context, Poll},
};

use http_body::{Body, Frame, SizeHint};

use crate::Call;

/// Calls kept for inspection. A load test must not grow without bound, so the oldest go first.
const CALLS_KEPT: usize = 10_000;

/// What a server counts, shared with its connection tasks.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    requests: AtomicU64,
    in_flight: AtomicU64,
    accepted: AtomicU64,
    open: AtomicU64,
    calls: Mutex<VecDeque<Call>>,
}

impl Counters {
    pub(crate) fn requests(&self) -> u64 {
        self.requests.load(Relaxed)
    }

    pub(crate) fn in_flight(&self) -> u64 {
        self.in_flight.load(Relaxed)
    }

    pub(crate) fn accepted(&self) -> u64 {
        self.accepted.load(Relaxed)
    }

    pub(crate) fn open(&self) -> u64 {
        self.open.load(Relaxed)
    }

    pub(crate) fn calls(&self) -> Vec<Call> {
        let calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        calls.iter().cloned().collect()
    }

    /// Counts a connection and returns its number, with the guard that counts its end.
    pub(crate) fn connection(self: &Arc<Self>) -> (u64, OpenConnection) {
        let number = self.accepted.fetch_add(1, Relaxed);
        self.open.fetch_add(1, Relaxed);
        (number, OpenConnection(Arc::clone(self)))
    }

    /// Counts a request, with the guard that counts its end.
    pub(crate) fn request(self: &Arc<Self>, call: Call) -> InFlight {
        self.requests.fetch_add(1, Relaxed);
        self.in_flight.fetch_add(1, Relaxed);
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        if calls.len() == CALLS_KEPT {
            calls.pop_front();
        }
        calls.push_back(call);
        InFlight(Arc::clone(self))
    }
}

#[derive(Debug)]
pub(crate) struct OpenConnection(Arc<Counters>);

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Relaxed);
    }
}

#[derive(Debug)]
pub(crate) struct InFlight(Arc<Counters>);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Relaxed);
    }
}

pin_project_lite::pin_project! {
    /// A response body that counts as in flight until it has been dropped.
    #[derive(Debug)]
    pub(crate) struct CountedBody<B> {
        #[pin]
        pub(crate) body: B,
        pub(crate) in_flight: InFlight,
    }
}

impl<B: Body> Body for CountedBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        self.project().body.poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

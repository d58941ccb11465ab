//! A body that keeps the frames it passes on, so that a later attempt can repeat them.

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

use super::ahead::{Ahead, Whole, add};
use super::frames::{Frames, Kept};

/// The source and what was read from it, shared by the attempts of one request.
pub(crate) struct Shared<B: Body> {
    // Held for the poll of one frame at a time. Only the newest attempt polls the source, so the
    // lock is contended only in the moment in which an outdated attempt learns that it is one.
    state: Mutex<State<Ahead<B>>>,
}

struct State<B> {
    source: B,
    ended: bool,
    /// The attempt that reads from the source; older ones are outdated.
    owner: u32,
    /// Frames read so far, while a further attempt may need them; else those not yet passed on.
    kept: Frames,
    /// Index in `kept` of the frame that the owner gets next.
    next: usize,
    size: usize,
    limit: usize,
    keeping: bool,
    waker: Option<Waker>,
}

impl<B: Body> Shared<B> {
    pub(super) fn new(source: Ahead<B>, limit: usize) -> Self {
        let state = State {
            source,
            ended: false,
            owner: 0,
            kept: Frames::default(),
            next: 0,
            size: 0,
            limit,
            keeping: true,
            waker: None,
        };
        Self {
            state: Mutex::new(state),
        }
    }

    /// Whether the owner has read it to its end, and has no further use for it.
    pub(super) fn is_read(&self) -> bool {
        let state = self.lock();
        state.ended && state.next == state.kept.len()
    }

    /// Frees what the owner has passed on already and keeps nothing from now on.
    pub(super) fn release(&self) {
        self.lock().release();
    }

    fn lock(&self) -> MutexGuard<'_, State<Ahead<B>>> {
        // A source that panicked leaves nothing half done that is ours.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Gives the body of the next attempt, unless the frames it needs are gone.
pub(super) fn next<B: Body>(
    shared: &Arc<Shared<B>>,
    stale: Option<fn() -> B::Error>,
) -> Option<Captured<B>> {
    let mut state = shared.lock();
    if !state.keeping {
        return None;
    }
    state.owner += 1;
    state.next = 0;
    let attempt = state.owner;
    let outdated = state.waker.take();
    drop(state);
    if let Some(waker) = outdated {
        waker.wake();
    }
    Some(Captured(Kind::Shared {
        shared: Arc::clone(shared),
        attempt,
        stale,
    }))
}

impl<B> State<B> {
    fn release(&mut self) {
        if self.keeping {
            self.keeping = false;
            for _ in 0..std::mem::take(&mut self.next) {
                drop(self.kept.pop_first());
            }
        }
    }

    fn repeat(&mut self) -> Option<Frame<Bytes>> {
        if !self.keeping {
            return self.kept.pop_first().map(Kept::into_frame);
        }
        let frame = self.kept.get(self.next)?.clone().into_frame();
        self.next += 1;
        Some(frame)
    }

    fn keep(&mut self, frame: &Frame<Bytes>) {
        // An empty frame says nothing, and there may be any number of them.
        if !self.keeping || frame.data_ref().is_some_and(Bytes::is_empty) {
            return;
        }
        match Kept::of(frame) {
            Some(kept) if self.size + kept.size() <= self.limit => {
                self.size += kept.size();
                self.kept.push(kept);
                self.next += 1;
            }
            // Too long, or of a kind that cannot be copied: stream on and give up repeating it.
            _ => {
                self.release();
                self.kept = Frames::default();
            }
        }
    }
}

impl<B> State<B>
where
    B: Body<Data = Bytes> + Unpin,
{
    fn poll_source(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        if self.ended {
            return Poll::Ready(None);
        }
        let polled = Pin::new(&mut self.source).poll_frame(cx);
        match &polled {
            Poll::Ready(Some(Ok(frame))) => self.keep(frame),
            Poll::Ready(Some(Err(_))) => {
                // The source is broken for every attempt to come.
                self.ended = true;
                self.release();
            }
            Poll::Ready(None) => self.ended = true,
            Poll::Pending if self.keeping => {
                let current = cx.waker();
                if !self
                    .waker
                    .as_ref()
                    .is_some_and(|old| old.will_wake(current))
                {
                    self.waker = Some(current.clone());
                }
            }
            Poll::Pending => {}
        }
        polled
    }

    fn is_end(&self) -> bool {
        self.next == self.kept.len() && (self.ended || self.source.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        let kept: u64 = self.kept.iter().skip(self.next).map(Kept::data_len).sum();
        let rest = if self.ended {
            SizeHint::with_exact(0)
        } else {
            self.source.size_hint()
        };
        add(kept, &rest)
    }
}

/// The body of one attempt.
pub(crate) struct Captured<B: Body>(Kind<B>);

enum Kind<B: Body> {
    Whole(Whole),
    Shared {
        shared: Arc<Shared<B>>,
        attempt: u32,
        stale: Option<fn() -> B::Error>,
    },
}

impl<B: Body> Captured<B> {
    pub(super) fn whole(whole: Whole) -> Self {
        Self(Kind::Whole(whole))
    }

    pub(super) fn first(shared: Arc<Shared<B>>, stale: Option<fn() -> B::Error>) -> Self {
        Self(Kind::Shared {
            shared,
            attempt: 0,
            stale,
        })
    }
}

impl<B> Body for Captured<B>
where
    B: Body<Data = Bytes> + Unpin,
{
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let (shared, attempt, stale) = match &mut self.0 {
            Kind::Whole(whole) => return Poll::Ready(whole.next_frame().map(Ok)),
            Kind::Shared {
                shared,
                attempt,
                stale,
            } => (shared, *attempt, *stale),
        };
        let mut state = shared.lock();
        if state.owner != attempt {
            // Never a clean end: a body cut short must not look complete to the server.
            return match stale {
                Some(stale) => Poll::Ready(Some(Err(stale()))),
                None => Poll::Pending,
            };
        }
        if let Some(frame) = state.repeat() {
            return Poll::Ready(Some(Ok(frame)));
        }
        state.poll_source(cx)
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Kind::Whole(whole) => whole.is_end_stream(),
            Kind::Shared {
                shared, attempt, ..
            } => {
                let state = shared.lock();
                state.owner == *attempt && state.is_end()
            }
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Kind::Whole(whole) => whole.size_hint(),
            Kind::Shared { shared, .. } => shared.lock().size_hint(),
        }
    }
}

impl<B: Body> fmt::Debug for Captured<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let attempt = match &self.0 {
            Kind::Whole(_) => None,
            Kind::Shared { attempt, .. } => Some(attempt),
        };
        f.debug_struct("Captured")
            .field("attempt", &attempt)
            .finish_non_exhaustive()
    }
}

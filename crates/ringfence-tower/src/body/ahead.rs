//! The beginning of a body, read before it is sent.
//!
//! Nearly every gRPC request is one frame that is there at once, though the type of its body does not say so. Held as it is, it
//! costs a fraction of what it takes to keep the frames of a body while it is sent.

use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};

use super::frames::{data_size, trailers_size};

/// What was found at the beginning of a body.
pub(super) enum Beginning<B: Body> {
    /// All of it, and it may be kept.
    Whole(Whole),
    /// More than may be kept, or than is there.
    Part(Ahead<B>),
}

/// Reads what is there of a body, at most two frames.
///
/// Nobody is woken for what is not there yet: whoever sends the body polls it again before waiting for it.
pub(super) fn read<B>(source: B, limit: usize) -> Beginning<B>
where
    B: Body<Data = Bytes> + Unpin,
{
    let told = source.size_hint().exact();
    let mut ahead = Ahead {
        source,
        first: None,
        second: None,
    };
    let whole = |data| {
        Beginning::Whole(Whole {
            data: Some(data),
            trailers: None,
            told,
        })
    };
    let data = match ahead.poll_source() {
        Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
            Ok(data) => data,
            Err(other) => return ahead.after(Ok(other)),
        },
        Poll::Ready(Some(Err(error))) => return ahead.after(Err(error)),
        // gRPC: a request without messages ends with an empty frame, not with its head.
        Poll::Ready(None) => return whole(Bytes::new()),
        Poll::Pending => return Beginning::Part(ahead),
    };
    let size = data_size(&data);
    if size <= limit {
        if ahead.source.is_end_stream() {
            return whole(data);
        }
        match ahead.poll_source() {
            Poll::Ready(None) => return whole(data),
            Poll::Ready(Some(Ok(frame))) => match frame.into_trailers() {
                Ok(trailers) if size + trailers_size(&trailers) <= limit => {
                    return Beginning::Whole(Whole {
                        data: Some(data),
                        trailers: Some(Box::new(trailers)),
                        told,
                    });
                }
                Ok(trailers) => ahead.second = Some(Ok(Frame::trailers(trailers))),
                Err(other) => ahead.second = Some(Ok(other)),
            },
            Poll::Ready(Some(Err(error))) => ahead.second = Some(Err(error)),
            Poll::Pending => {}
        }
    }
    ahead.after(Ok(Frame::data(data)))
}

/// A body that came to its end at once.
#[derive(Clone)]
pub(super) struct Whole {
    data: Option<Bytes>,
    trailers: Option<Box<HeaderMap>>,
    /// How much of it is left by what the body said, which may be more than there is: it must not look complete then.
    told: Option<u64>,
}

impl Whole {
    pub(super) fn next_frame(&mut self) -> Option<Frame<Bytes>> {
        if let Some(data) = self.data.take() {
            self.told = self.told.map(|told| told.saturating_sub(data.len() as u64));
            return Some(Frame::data(data));
        }
        let trailers = self.trailers.take()?;
        Some(Frame::trailers(*trailers))
    }

    pub(super) fn is_end_stream(&self) -> bool {
        self.data.is_none() && self.trailers.is_none() && self.told.is_none_or(|told| told == 0)
    }

    pub(super) fn size_hint(&self) -> SizeHint {
        if let Some(told) = self.told {
            return SizeHint::with_exact(told);
        }
        let left = self.data.as_ref().map_or(0, |data| data.len() as u64);
        let mut hint = SizeHint::new();
        hint.set_lower(left);
        hint
    }
}

/// A body whose first frames may have been read already.
pub(super) struct Ahead<B: Body> {
    source: B,
    first: Option<Result<Frame<Bytes>, B::Error>>,
    second: Option<Result<Frame<Bytes>, B::Error>>,
}

impl<B> Ahead<B>
where
    B: Body<Data = Bytes> + Unpin,
{
    fn poll_source(&mut self) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let mut cx = Context::from_waker(Waker::noop());
        Pin::new(&mut self.source).poll_frame(&mut cx)
    }

    fn after(mut self, first: Result<Frame<Bytes>, B::Error>) -> Beginning<B> {
        self.first = Some(first);
        Beginning::Part(self)
    }
}

// Nothing in it but the source is polled.
impl<B: Body + Unpin> Unpin for Ahead<B> {}

impl<B> Body for Ahead<B>
where
    B: Body<Data = Bytes> + Unpin,
{
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let this = &mut *self;
        match this.first.take().or_else(|| this.second.take()) {
            Some(read) => Poll::Ready(Some(read)),
            None => Pin::new(&mut this.source).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.first.is_none() && self.second.is_none() && self.source.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let frames = self.first.iter().chain(&self.second);
        let data = frames.filter_map(|frame| frame.as_ref().ok()?.data_ref());
        let read: u64 = data.map(|data| data.len() as u64).sum();
        add(read, &self.source.size_hint())
    }
}

/// What is left of a body of which so many bytes have been read and not yet passed on.
pub(super) fn add(read: u64, rest: &SizeHint) -> SizeHint {
    let mut hint = SizeHint::new();
    hint.set_lower(rest.lower().saturating_add(read));
    if let Some(upper) = rest.upper().and_then(|upper| upper.checked_add(read)) {
        hint.set_upper(upper);
    }
    hint
}

//! Connections that are counted while they are open.

use std::fmt;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use super::lifetime::{End, Lifetime};
use crate::transport::Connections;

const DRAINED: &str = "the instance left the service, and its drain limit is over";

/// The connections to one instance.
#[derive(Debug, Default)]
pub(super) struct Tally {
    open: AtomicUsize,
    made: AtomicU64,
    /// Attempts that were given a channel.
    used: AtomicU64,
    /// Reads that brought something.
    reads: AtomicU64,
}

impl Tally {
    pub(super) fn used(&self) {
        self.used.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn uses(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    pub(super) fn now(&self) -> Connections {
        // Whoever is among those made is open already, and whoever is not yet will be: none is missed.
        let made = self.made.load(Ordering::Acquire);
        let open = self.open.load(Ordering::Acquire);
        Connections::new(open, made).with_reads(self.reads.load(Ordering::Acquire))
    }
}

/// A connection that is in the tally until it is dropped, and ends when its time has come.
pub(super) struct Counted {
    stream: TcpStream,
    tally: Arc<Tally>,
    lifetime: Lifetime,
    ended: Option<End>,
}

impl Counted {
    pub(super) fn new(stream: TcpStream, tally: Arc<Tally>, lifetime: Lifetime) -> Self {
        tally.open.fetch_add(1, Ordering::AcqRel);
        tally.made.fetch_add(1, Ordering::AcqRel);
        Self {
            stream,
            tally,
            lifetime,
            ended: None,
        }
    }

    fn stream(self: Pin<&mut Self>) -> Pin<&mut TcpStream> {
        Pin::new(&mut self.get_mut().stream)
    }
}

impl fmt::Debug for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Counted")
            .field("stream", &self.stream)
            .field("ended", &self.ended)
            .finish_non_exhaustive()
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.tally.open.fetch_sub(1, Ordering::AcqRel);
    }
}

impl AsyncRead for Counted {
    #[inline]
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.ended.is_none() {
            let before = buf.filled().len();
            let polled = Pin::new(&mut this.stream).poll_read(cx, buf);
            if polled.is_ready() {
                if buf.filled().len() > before {
                    this.tally.reads.fetch_add(1, Ordering::AcqRel);
                }
                return polled;
            }
            this.ended = Some(ready!(this.lifetime.poll(cx)));
        }
        Poll::Ready(match this.ended {
            // As if the server had closed it: whatever comes next makes another one.
            Some(End::Idle) | None => Ok(()),
            Some(End::Drained) => Err(io::Error::new(io::ErrorKind::ConnectionAborted, DRAINED)),
        })
    }
}

impl AsyncWrite for Counted {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.stream().poll_write(cx, buf)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream().poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream().poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.stream().poll_write_vectored(cx, bufs)
    }
}

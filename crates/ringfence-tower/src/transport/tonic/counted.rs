//! Connections that are counted while they are open.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use crate::transport::Connections;

/// The connections to one instance.
#[derive(Debug, Default)]
pub(super) struct Tally {
    open: AtomicUsize,
    made: AtomicU64,
    /// Reads that brought something.
    reads: AtomicU64,
}

impl Tally {
    pub(super) fn now(&self) -> Connections {
        // Whoever is among those made is open already, and whoever is not yet will be: none is missed.
        let made = self.made.load(Ordering::Acquire);
        let open = self.open.load(Ordering::Acquire);
        Connections::new(open, made).with_reads(self.reads.load(Ordering::Acquire))
    }
}

/// A connection that is in the tally until it is dropped.
#[derive(Debug)]
pub(super) struct Counted {
    stream: TcpStream,
    tally: Arc<Tally>,
}

impl Counted {
    pub(super) fn new(stream: TcpStream, tally: Arc<Tally>) -> Self {
        tally.open.fetch_add(1, Ordering::AcqRel);
        tally.made.fetch_add(1, Ordering::AcqRel);
        Self { stream, tally }
    }

    fn stream(self: Pin<&mut Self>) -> Pin<&mut TcpStream> {
        Pin::new(&mut self.get_mut().stream)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.tally.open.fetch_sub(1, Ordering::AcqRel);
    }
}

impl AsyncRead for Counted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let polled = self.as_mut().stream().poll_read(cx, buf);
        if buf.filled().len() > before {
            self.tally.reads.fetch_add(1, Ordering::AcqRel);
        }
        polled
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

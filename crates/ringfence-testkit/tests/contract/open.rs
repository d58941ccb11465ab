//! Counts what is open of a source, by its streams.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
};

use futures_core::Stream;
use ringfence_discovery::{BoxFuture, BoxStream, Discovery, DiscoveryError, ServiceKey, Update};

type Said = Result<Update, DiscoveryError>;

/// A source whose streams are counted while they live.
#[derive(Clone, Debug)]
pub(crate) struct Counted<D> {
    pub(crate) source: D,
    pub(crate) open: Arc<AtomicUsize>,
}

impl<D> Counted<D> {
    pub(crate) fn new(source: D, open: &Arc<AtomicUsize>) -> Self {
        Self {
            source,
            open: Arc::clone(open),
        }
    }
}

impl<D: Discovery> Discovery for Counted<D> {
    fn name(&self) -> &str {
        self.source.name()
    }

    fn registry(&self) -> String {
        self.source.registry()
    }

    fn watch(&self, service: &ServiceKey) -> BoxStream<'static, Said> {
        self.open.fetch_add(1, Ordering::Relaxed);
        Box::pin(Watched {
            stream: self.source.watch(service),
            open: Arc::clone(&self.open),
        })
    }

    fn fetch(&self, service: &ServiceKey) -> BoxFuture<'static, Said> {
        self.source.fetch(service)
    }
}

struct Watched {
    stream: BoxStream<'static, Said>,
    open: Arc<AtomicUsize>,
}

impl Stream for Watched {
    type Item = Said;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Said>> {
        self.stream.as_mut().poll_next(cx)
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }
}

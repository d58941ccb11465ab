use std::{
    fmt,
    future::poll_fn,
    mem,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::time::{Instant, Sleep, sleep};

use crate::{
    BoxStream, DiscoveryError, Document, DocumentSource, ErrorKind, WatchConfig,
    supervisor::{backoff::Backoff, guarded::guarded},
};

/// Watches a document for as long as its owner cares: a watch that ends or fails is opened anew after the same backoff that a
/// [`Supervisor`](crate::Supervisor) has.
///
/// It has no task. What it gives is what the source gave; an error says nothing of the document, and neither do a panic or an
/// end of the source, which count as errors.
///
/// # Examples
/// ```
/// use std::sync::Arc;
/// use ringfence_discovery::{DocumentWatch, StaticDocument, WatchConfig};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), ringfence_discovery::DiscoveryError> {
/// let source = Arc::new(StaticDocument::new("ringfence: 1"));
/// let mut watch = DocumentWatch::new(source, &WatchConfig::default());
/// assert_eq!(watch.next().await?.content.as_deref(), Some(&b"ringfence: 1"[..]));
/// # Ok(())
/// # }
/// ```
#[must_use = "it does nothing unless `next` is awaited"]
pub struct DocumentWatch {
    source: Arc<dyn DocumentSource>,
    rng: fastrand::Rng,
    backoff: Backoff,
    /// The least time between two errors, and of a watch that counts as working.
    base: Duration,
    state: State,
}

enum State {
    /// The first time without waiting.
    Waiting(Option<Pin<Box<Sleep>>>),
    Open(Open),
}

struct Open {
    stream: BoxStream<'static, Result<Document, DiscoveryError>>,
    since: Instant,
    delivered: bool,
    /// The last item was an error.
    failed: bool,
    last_error: Option<Instant>,
}

impl DocumentWatch {
    /// Sets up the watch with the backoff and the seed of `config`; nothing is asked before the first [`next`](Self::next).
    pub fn new(source: Arc<dyn DocumentSource>, config: &WatchConfig) -> Self {
        Self {
            rng: config
                .seed()
                .map_or_else(fastrand::Rng::new, fastrand::Rng::with_seed),
            backoff: Backoff::new(config.backoff_base(), config.backoff_max()),
            base: config.backoff_base(),
            source,
            state: State::Waiting(None),
        }
    }

    /// Name of the source.
    #[must_use]
    pub fn name(&self) -> &str {
        self.source.name()
    }

    /// Waits for what the source says next. There is always a next one to wait for.
    ///
    /// # Errors
    /// What the source failed with; the document is as it was, as far as is known.
    ///
    /// # Cancel safety
    /// A dropped future loses nothing.
    ///
    /// # Panics
    /// Outside a tokio runtime with time enabled.
    pub async fn next(&mut self) -> Result<Document, DiscoveryError> {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Result<Document, DiscoveryError>> {
        loop {
            if let State::Waiting(wait) = &mut self.state {
                if let Some(wait) = wait {
                    ready!(wait.as_mut().poll(cx));
                }
                match guarded(|| self.source.name(), || self.source.watch()) {
                    Ok(stream) => self.state = State::Open(Open::new(stream)),
                    Err(panicked) => {
                        self.close();
                        return Poll::Ready(Err(panicked));
                    }
                }
            }
            let State::Open(open) = &mut self.state else {
                continue;
            };
            let name = self.source.name();
            match guarded(|| name, || open.stream.as_mut().poll_next(cx)) {
                Ok(Poll::Pending) => return Poll::Pending,
                Ok(Poll::Ready(Some(Ok(document)))) => {
                    open.delivered = true;
                    open.failed = false;
                    return Poll::Ready(Ok(document));
                }
                Ok(Poll::Ready(Some(Err(error)))) => {
                    open.failed = true;
                    let now = Instant::now();
                    let last = open.last_error.replace(now);
                    if last.is_some_and(|last| now.duration_since(last) < self.base) {
                        self.close();
                    }
                    return Poll::Ready(Err(error));
                }
                // The error before it said why.
                Ok(Poll::Ready(None)) if open.failed => self.close(),
                Ok(Poll::Ready(None)) => {
                    let ended =
                        DiscoveryError::new(ErrorKind::Unavailable, name, "the watch ended");
                    self.close();
                    return Poll::Ready(Err(ended));
                }
                Err(panicked) => {
                    self.close();
                    return Poll::Ready(Err(panicked));
                }
            }
        }
    }

    /// Drops the stream and waits before the next one.
    fn close(&mut self) {
        if let State::Open(open) = mem::replace(&mut self.state, State::Waiting(None))
            // A stream that delivers and dies at once, over and over, is no recovery.
            && open.delivered
            && open.since.elapsed() >= self.base
        {
            self.backoff.reset();
        }
        let wait = self.backoff.next_wait(&mut self.rng);
        self.state = State::Waiting(Some(Box::pin(sleep(wait))));
    }
}

impl Open {
    fn new(stream: BoxStream<'static, Result<Document, DiscoveryError>>) -> Self {
        Self {
            stream,
            since: Instant::now(),
            delivered: false,
            failed: false,
            last_error: None,
        }
    }
}

impl fmt::Debug for DocumentWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DocumentWatch")
            .field("source", &self.source)
            .finish_non_exhaustive()
    }
}

use std::{
    borrow::Cow,
    fmt,
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
};

use futures_core::Stream;
use ringfence_discovery::{
    BoxStream, DiscoveryError, Document, DocumentSource, ErrorKind, Provenance,
};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

type Item = Result<Document, DiscoveryError>;

/// A source of a document that says exactly what a test tells it to. Clones are handles on the same source.
///
/// Streams that begin after a [`put`](Self::put) or [`delete`](Self::delete) begin with that; before the first they wait.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// use std::sync::Arc;
/// use ringfence_discovery::{DocumentWatch, ErrorKind, WatchConfig};
/// use ringfence_testkit::ScriptedDocument;
///
/// let source = ScriptedDocument::new();
/// source.put("a text");
/// let mut watch = DocumentWatch::new(Arc::new(source.clone()), &WatchConfig::default());
/// assert!(watch.next().await.is_ok());
/// source.fail(ErrorKind::Unavailable);
/// assert!(watch.next().await.is_err());
/// assert_eq!((source.opened(), source.open()), (1, 1));
/// # }
/// ```
#[derive(Clone, Default)]
pub struct ScriptedDocument(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    open: AtomicUsize,
}

#[derive(Default)]
struct State {
    current: Option<Document>,
    revision: u64,
    opened: usize,
    panics: bool,
    streams: Vec<UnboundedSender<Item>>,
}

impl ScriptedDocument {
    /// Name of the source in logs, errors and provenance.
    pub const NAME: &'static str = "scripted";

    /// A source that has said nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives a document to all live streams, with a revision that rises by one each time, and keeps it.
    pub fn put(&self, content: impl AsRef<[u8]>) {
        self.say(Document::new(content, Provenance::live(Self::NAME)));
    }

    /// Says to all live streams that there is no document, and remembers that.
    pub fn delete(&self) {
        self.say(Document::absent(Provenance::live(Self::NAME)));
    }

    fn say(&self, document: Document) {
        let mut state = self.state();
        state.revision += 1;
        let document = document.with_revision(state.revision);
        state.send(|| Ok(document.clone()));
        state.current = Some(document);
    }

    /// Says the same once more.
    pub fn repeat(&self) {
        let state = self.state();
        if let Some(document) = &state.current {
            state.send(|| Ok(document.clone()));
        }
    }

    /// Gives an error to all live streams, which go on.
    pub fn fail(&self, kind: ErrorKind) {
        let error = || DiscoveryError::new(kind, Self::NAME, format!("told to fail: {kind}"));
        self.state().send(|| Err(error()));
    }

    /// Ends all live streams.
    pub fn end(&self) {
        self.state().streams.clear();
    }

    /// Has streams that begin from now on panic, or no longer.
    pub fn set_panicking(&self, panics: bool) {
        self.state().panics = panics;
    }

    /// Streams so far.
    #[must_use]
    pub fn opened(&self) -> usize {
        self.state().opened
    }

    /// Streams that have not been dropped.
    #[must_use]
    pub fn open(&self) -> usize {
        self.0.open.load(Ordering::SeqCst)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn send(&self, item: impl Fn() -> Item) {
        for stream in &self.streams {
            // A receiver that is gone has been dropped by its watcher.
            let _ = stream.send(item());
        }
    }
}

struct Watch {
    shared: Arc<Shared>,
    items: UnboundedReceiver<Item>,
}

impl Stream for Watch {
    type Item = Item;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Item>> {
        let panics = {
            let state = self.shared.state.lock();
            state.unwrap_or_else(PoisonError::into_inner).panics
        };
        assert!(!panics, "told to panic");
        self.items.poll_recv(cx)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.shared.open.fetch_sub(1, Ordering::SeqCst);
    }
}

impl DocumentSource for ScriptedDocument {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn document(&self) -> Cow<'_, str> {
        Cow::Borrowed("policy.yaml")
    }

    fn watch(&self) -> BoxStream<'static, Item> {
        let (sender, items) = unbounded_channel();
        let mut state = self.state();
        if let Some(document) = &state.current {
            let _ = sender.send(Ok(document.clone()));
        }
        state.opened += 1;
        state.streams.push(sender);
        self.0.open.fetch_add(1, Ordering::SeqCst);
        Box::pin(Watch {
            shared: Arc::clone(&self.0),
            items,
        })
    }
}

impl fmt::Debug for ScriptedDocument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptedDocument").finish_non_exhaustive()
    }
}

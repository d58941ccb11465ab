use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tracing::field::{Field, Visit};
use tracing::subscriber::{DefaultGuard, set_default};
use tracing::{Event, Metadata, Subscriber, span};

/// Keeps the spans of one target that begin on this thread, until it is dropped.
///
/// ```
/// let spans = ringfence_testkit::Spans::capture("work");
/// let span = tracing::info_span!(target: "work", "dig", depth = 3, tool = tracing::field::Empty);
/// span.record("tool", "spade");
/// assert!(spans.take_closed().is_empty());
/// drop(span);
/// let closed = spans.take_closed();
/// assert_eq!((closed[0].name, closed[0].get("depth"), closed[0].get("tool")), ("dig", Some("3"), Some("spade")));
/// ```
#[derive(Debug)]
pub struct Spans {
    kept: Arc<Mutex<Kept>>,
    _default: DefaultGuard,
}

/// A span that is over.
#[derive(Clone, Debug)]
pub struct ClosedSpan {
    /// Its name.
    pub name: &'static str,
    /// Its fields that have a value.
    pub fields: BTreeMap<&'static str, String>,
}

impl ClosedSpan {
    /// The value of a field, as text.
    #[must_use]
    pub fn get(&self, field: &str) -> Option<&str> {
        self.fields.get(field).map(String::as_str)
    }
}

#[derive(Debug, Default)]
struct Kept {
    /// Each with its handles.
    open: BTreeMap<u64, (ClosedSpan, usize)>,
    entered: Vec<u64>,
    closed: Vec<ClosedSpan>,
    next: u64,
}

impl Spans {
    /// Starts to listen.
    #[must_use]
    pub fn capture(target: &'static str) -> Self {
        let kept = Arc::default();
        let capture = Capture {
            target,
            kept: Arc::clone(&kept),
        };
        Self {
            _default: set_default(capture),
            kept,
        }
    }

    /// The spans that closed since the last call.
    #[must_use]
    pub fn take_closed(&self) -> Vec<ClosedSpan> {
        std::mem::take(&mut lock(&self.kept).closed)
    }

    /// Tells which span code runs in: the how manieth of those that began; 0 in none of them.
    pub fn current(&self) -> impl Fn() -> u64 + Send + Sync + use<> {
        let kept = Arc::clone(&self.kept);
        move || lock(&kept).entered.last().copied().unwrap_or_default()
    }

    /// How many are not closed.
    #[must_use]
    pub fn open(&self) -> usize {
        lock(&self.kept).open.len()
    }
}

fn lock(kept: &Mutex<Kept>) -> MutexGuard<'_, Kept> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Capture {
    target: &'static str,
    kept: Arc<Mutex<Kept>>,
}

struct Fields<'a>(&'a mut BTreeMap<&'static str, String>);

impl Visit for Fields<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }
}

impl Subscriber for Capture {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_span() && metadata.target() == self.target
    }

    fn new_span(&self, attributes: &span::Attributes<'_>) -> span::Id {
        let mut kept = lock(&self.kept);
        kept.next += 1;
        let id = kept.next;
        let mut span = ClosedSpan {
            name: attributes.metadata().name(),
            fields: BTreeMap::new(),
        };
        attributes.record(&mut Fields(&mut span.fields));
        kept.open.insert(id, (span, 1));
        span::Id::from_u64(id)
    }

    fn record(&self, id: &span::Id, values: &span::Record<'_>) {
        if let Some((span, _)) = lock(&self.kept).open.get_mut(&id.into_u64()) {
            values.record(&mut Fields(&mut span.fields));
        }
    }

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, _: &Event<'_>) {}

    fn enter(&self, id: &span::Id) {
        lock(&self.kept).entered.push(id.into_u64());
    }

    fn exit(&self, id: &span::Id) {
        let entered = &mut lock(&self.kept).entered;
        entered.retain(|entered| *entered != id.into_u64());
    }

    fn clone_span(&self, id: &span::Id) -> span::Id {
        if let Some((_, handles)) = lock(&self.kept).open.get_mut(&id.into_u64()) {
            *handles += 1;
        }
        id.clone()
    }

    fn try_close(&self, id: span::Id) -> bool {
        let mut kept = lock(&self.kept);
        let Some((_, handles)) = kept.open.get_mut(&id.into_u64()) else {
            return false;
        };
        *handles -= 1;
        if *handles > 0 {
            return false;
        }
        if let Some((span, _)) = kept.open.remove(&id.into_u64()) {
            kept.closed.push(span);
        }
        true
    }
}

use std::fmt::{self, Write as _};
use std::sync::{Arc, Mutex, PoisonError};

use tracing::field::{Field, Visit};
use tracing::subscriber::{DefaultGuard, set_default};
use tracing::{Event, Level, Metadata, Subscriber, span};

/// Keeps what this thread logs as a warning or an error, or from another level on, until it is dropped.
///
/// ```
/// let warnings = ringfence_testkit::Warnings::capture();
/// tracing::info!("nothing to worry about");
/// tracing::warn!(wheels = 3, "one is lost");
/// assert_eq!(warnings.take(), ["message=one is lost wheels=3"]);
/// assert!(warnings.take().is_empty());
/// ```
#[derive(Debug)]
pub struct Warnings {
    lines: Lines,
    _default: DefaultGuard,
}

impl Warnings {
    /// Starts to listen for warnings and errors.
    #[must_use]
    pub fn capture() -> Self {
        Self::capture_from(Level::WARN)
    }

    /// Starts to listen for what is at least as bad as `level`.
    #[must_use]
    pub fn capture_from(level: Level) -> Self {
        Self::listen(level, None)
    }

    /// Starts to listen for everything under this target, and nothing else.
    #[must_use]
    pub fn capture_target(target: &'static str) -> Self {
        Self::listen(Level::TRACE, Some(target))
    }

    fn listen(level: Level, target: Option<&'static str>) -> Self {
        let lines = Lines::default();
        let capture = Capture {
            level,
            target,
            lines: Arc::clone(&lines),
        };
        Self {
            _default: set_default(capture),
            lines,
        }
    }

    /// The lines since the last call: `name=value` of each field, the message among them.
    #[must_use]
    pub fn take(&self) -> Vec<String> {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *lines)
    }
}

type Lines = Arc<Mutex<Vec<String>>>;

struct Capture {
    level: Level,
    target: Option<&'static str>,
    lines: Lines,
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let space = if self.0.is_empty() { "" } else { " " };
        // Writing to a string cannot fail.
        let _ = write!(self.0, "{space}{}={value:?}", field.name());
    }
}

impl Subscriber for Capture {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        let is_target = self.target.is_none_or(|target| target == metadata.target());
        is_target && *metadata.level() <= self.level
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(String::new());
        event.record(&mut line);
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.push(line.0);
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

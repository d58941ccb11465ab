//! Audit events on their way from requests to their sink.

use std::{
    fmt,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
};

use ringfence_policy::{AuditEvent, AuditSink};
use tokio::{runtime::Handle, sync::mpsc};

/// Events that may wait for a sink that is slow.
const WAITING: usize = 4_096;

/// Writes to the log, target `ringfence::audit`.
struct LogSink;

impl AuditSink for LogSink {
    fn record(&self, event: AuditEvent) {
        tracing::info!(
            target: "ringfence::audit",
            who = %event.who.escape_debug(),
            tag = event.tag,
            service = event.service,
            rule = event.rule,
            decision = ?event.decision,
            reason = event.reason.as_str(),
            "tag"
        );
    }
}

/// Hands events to the sink, in a task of its own, so that no request waits for it.
pub(crate) struct Audit {
    sink: Arc<dyn AuditSink>,
    runtime: Handle,
    /// Made with the first event: most services have none.
    sender: OnceLock<mpsc::Sender<AuditEvent>>,
    lost: AtomicU64,
}

impl Audit {
    pub(crate) fn new(sink: Option<Arc<dyn AuditSink>>, runtime: Handle) -> Self {
        Self {
            sink: sink.unwrap_or_else(|| Arc::new(LogSink)),
            runtime,
            sender: OnceLock::new(),
            lost: AtomicU64::new(0),
        }
    }

    pub(crate) fn record(&self, events: Vec<AuditEvent>) {
        for event in events {
            let sender = self.sender.get_or_init(|| self.start());
            // Full, or the sink has panicked.
            if sender.try_send(event).is_err() {
                self.lost.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// The task ends when the sender is gone and everything that was sent has been handed on.
    fn start(&self) -> mpsc::Sender<AuditEvent> {
        let (sender, mut events) = mpsc::channel(WAITING);
        let sink = Arc::clone(&self.sink);
        self.runtime.spawn(async move {
            while let Some(event) = events.recv().await {
                sink.record(event);
            }
        });
        sender
    }

    pub(crate) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }
}

impl fmt::Debug for Audit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Audit")
            .field("lost", &self.lost)
            .finish_non_exhaustive()
    }
}

//! Audit events on their way from requests to their sink.

use std::{
    fmt,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
};

use ringfence_policy::{AuditDecision, AuditEvent, AuditReason, AuditSink};
use tokio::{runtime::Handle, sync::mpsc};

/// Events that may wait for a sink that is slow.
const WAITING: usize = 4_096;

/// Writes to the log, target `ringfence::audit`.
struct LogSink;

macro_rules! log {
    ($level:ident, $event:expr) => {
        tracing::$level!(
            target: "ringfence::audit",
            who = %$event.who.escape_debug(),
            tag = $event.tag,
            service = $event.service,
            rule = $event.rule,
            decision = ?$event.decision,
            reason = $event.reason.as_str(),
            "tag"
        )
    };
}

impl AuditSink for LogSink {
    fn record(&self, event: AuditEvent) {
        match (event.decision, event.reason) {
            // Each request of a tenant has one.
            (AuditDecision::Accepted, _) => log!(debug, event),
            // Two authorities in one program, or somebody at work in it: clients cannot cause that.
            (AuditDecision::Refused, AuditReason::ForeignAuthority) => log!(warn, event),
            // Clients can cause these at will, so they must not wake anybody.
            (AuditDecision::Refused, _) => log!(info, event),
        }
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

#[cfg(test)]
mod tests {
    use http::Request;
    use ringfence_core::RequestTags;
    use ringfence_policy::{PolicyContext, PolicyDocument, RequestHead, TagAuthority};
    use ringfence_testkit::Warnings;
    use tracing::Level;

    use super::*;

    #[test]
    fn what_each_request_does_is_not_logged_by_default_and_only_the_programs_faults_are_warnings() {
        let authority = TagAuthority::new();
        let context = PolicyContext::new().with_authority(&authority);
        let text = "
ringfence: 1
gray: { next: { to: { version: v2 } } }
rules: [{ name: a, gray: [next], tags_from_headers: { x-tenant: { tag: tenant } } }]";
        let policy = PolicyDocument::parse_and_compile(text, &context).expect("legal");
        let told = |level: Level, prepare: &dyn Fn(&mut Request<()>)| {
            let mut request = Request::new(());
            prepare(&mut request);
            let head = RequestHead::of(&request);
            let events = policy.evaluate(&head, 0).expect("not off").audit("order");
            assert_eq!(events.len(), 1, "{events:?}");
            let log = Warnings::capture_from(level);
            events.into_iter().for_each(|event| LogSink.record(event));
            log.take().len()
        };
        let by = |authority: &TagAuthority| {
            let token = authority.gray("next", "me");
            move |request: &mut Request<()>| {
                request.extensions_mut().insert(token.clone());
            }
        };
        let program = |request: &mut Request<()>| {
            let tags = RequestTags::new().with_tenant("acme");
            request.extensions_mut().insert(tags);
        };
        let client = |request: &mut Request<()>| {
            let tenant = http::HeaderValue::from_static("acme");
            request.headers_mut().insert("x-tenant", tenant);
        };
        let other = by(&TagAuthority::new());
        type Prepare<'a> = &'a dyn Fn(&mut Request<()>);
        let cases: [(Prepare<'_>, [usize; 3]); 4] = [
            (&by(&authority), [1, 0, 0]),
            (&program, [1, 0, 0]),
            (&client, [1, 1, 0]),
            (&other, [1, 1, 1]),
        ];
        for (prepare, expected) in cases {
            let levels = [Level::DEBUG, Level::INFO, Level::WARN];
            assert_eq!(levels.map(|level| told(level, prepare)), expected);
        }
    }
}

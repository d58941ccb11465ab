//! No log line at any level, no error and no `Debug` shows a token.

#![allow(clippy::expect_used, reason = "helpers of tests are tests")]

use std::{
    fmt::{self, Write as _},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use futures_util::StreamExt as _;
use ringfence_consul::{ConsulConfig, ConsulDiscovery, ConsulToken};
use ringfence_discovery::{Discovery as _, ServiceKey};
use ringfence_testkit::{Answer, Backend, Behaviour, RefusedAddress};
use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
};

const TOKEN: &str = "s3cr3t-t0k3n";

static LINES: Mutex<String> = Mutex::new(String::new());

/// Keeps every field of every span, event and log record.
struct Capture;

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let _ = write!(self.0, " {field}={value:?}");
    }
}

fn keep(line: &str) {
    let mut lines = LINES.lock().unwrap_or_else(PoisonError::into_inner);
    lines.push_str(line);
    lines.push('\n');
}

impl Subscriber for Capture {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut line = Line(span.metadata().target().to_owned());
        span.record(&mut line);
        keep(&line.0);
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, values: &Record<'_>) {
        let mut line = Line(String::new());
        values.record(&mut line);
        keep(&line.0);
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(event.metadata().target().to_owned());
        event.record(&mut line);
        keep(&line.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

impl log::Log for Capture {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        keep(&format!("log {} {}", record.target(), record.args()));
    }

    fn flush(&self) {}
}

#[tokio::test]
async fn no_log_line_error_or_debug_shows_the_token() {
    tracing::subscriber::set_global_default(Capture).expect("the first");
    log::set_logger(&Capture).expect("the first");
    log::set_max_level(log::LevelFilter::Trace);

    let backend = Backend::start().await.expect("a port");
    let list = Answer::ok("[]").header("x-consul-index", "7");
    backend.then(list.clone());
    backend.then(list);
    // Servers and proxies that send back what they were sent.
    backend.then(Answer::status(403).chunk(format!("no such token {TOKEN}")));
    backend.then(Answer::status(500).chunk(TOKEN));
    backend.then(Answer::ok(format!("<html>{TOKEN}")));
    backend.then(Answer::status(307).header("location", &format!("http://x/?token={TOKEN}")));
    backend.then(Answer::ok("[").then_reset());
    backend.always(Behaviour::Hang);
    let refused = RefusedAddress::new().expect("a port");
    let at = |address: String| {
        let config = ConsulConfig::new(address)
            .with_token(ConsulToken::value(TOKEN))
            .with_slack(Duration::from_millis(200));
        ConsulDiscovery::new(config).expect("legal")
    };
    let source = at(backend.uri());
    let key = ServiceKey::new("order");
    let mut watch = source.watch(&key);
    let mut shown = format!("{source:?} {source:#?}");
    let mut show = |outcome: &dyn fmt::Debug| shown.push_str(&format!("{outcome:?}\n"));
    for _ in 0..2 {
        show(&watch.next().await);
    }
    for _ in 0..6 {
        let outcome = source.fetch(&key).await;
        if let Err(error) = &outcome {
            show(&error.to_string());
        }
        show(&outcome);
    }
    show(
        &at(format!("http://{}", refused.address()))
            .fetch(&key)
            .await,
    );
    #[cfg(feature = "register")]
    shown.push_str(&registering().await);
    assert!(!shown.contains(TOKEN), "{shown}");
    for request in backend.requests() {
        assert_eq!(request.header("x-consul-token"), Some(TOKEN));
    }
    let lines = LINES.lock().unwrap_or_else(PoisonError::into_inner);
    for source in ["rustify", "hyper", "log reqwest"] {
        assert!(lines.contains(source), "nothing of {source} was captured");
    }
    let leaks: Vec<_> = lines.lines().filter(|line| line.contains(TOKEN)).collect();
    assert!(leaks.is_empty(), "{leaks:#?}");
}

/// Registers with agents that answer well and badly; returns all that is shown of it.
#[cfg(feature = "register")]
async fn registering() -> String {
    use ringfence_consul::{ConsulRegisterConfig, ConsulRegistrar};
    use ringfence_core::Instance;
    use ringfence_discovery::Registrar as _;

    let mut shown = String::new();
    for answer in [
        Answer::ok(TOKEN),
        Answer::status(500).chunk(TOKEN),
        Answer::status(403).chunk(TOKEN),
    ] {
        let backend = Backend::start().await.expect("a port");
        backend.always(answer);
        let config = ConsulConfig::new(backend.uri()).with_token(ConsulToken::value(TOKEN));
        let register = ConsulRegisterConfig::default().with_ttl(Duration::from_secs(1));
        let registrar = ConsulRegistrar::new(config, register).expect("legal");
        let instance = Instance::builder("a", "10.0.0.1:80")
            .build()
            .expect("legal");
        let registration = registrar
            .register(&ServiceKey::new("order"), instance)
            .await;
        let _ = write!(shown, "{registrar:?} {registration:?}");
        if let Ok(registration) = registration {
            let drained = registration.drain().await;
            let _ = write!(shown, "{drained:?}");
            // What fails is tried for longer than this test runs.
            let leaving = registration.deregister();
            let left = tokio::time::timeout(Duration::from_millis(500), leaving).await;
            let _ = write!(shown, "{left:?}");
        }
        let requests = backend.requests();
        assert!(
            requests
                .iter()
                .all(|r| r.header("x-consul-token") == Some(TOKEN))
        );
    }
    shown
}

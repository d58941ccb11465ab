//! No user, password or token in any log line, `Debug` or error, at the most talkative level of all crates involved.

use std::{
    fmt::{self, Write as _},
    sync::{Arc, Mutex},
};

use ringfence_discovery::Discovery as _;
use tonic::Code;
use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
};

use super::{server::*, *};

#[derive(Clone, Default)]
struct Log(Arc<Mutex<String>>);

impl Visit for Log {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let mut log = self.0.lock().expect("not poisoned");
        let _ = write!(log, " {field}={value:?}");
    }
}

impl Subscriber for Log {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        span.record(&mut self.clone());
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, values: &Record<'_>) {
        values.record(&mut self.clone());
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let target = event.metadata().target();
        let _ = write!(self.0.lock().expect("not poisoned"), "\n{target}");
        event.record(&mut self.clone());
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// One thread, so that the tasks of the client and of the server are captured as well.
#[test]
fn nothing_secret_is_logged_or_shown() {
    let log = Log::default();
    let subscriber = log.clone();
    let shown = tracing::subscriber::with_default(subscriber, || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime.expect("a runtime").block_on(everything())
    });
    let log = log.0.lock().expect("not poisoned");
    assert!(
        log.contains("h2") && log.contains("ringfence_etcd"),
        "something is captured:\n{log:.2000}"
    );
    for secret in ["hunter2", "wrong-pw", "sesame", "reader-user"] {
        for text in [&*log, &shown] {
            let at = text.find(secret);
            let around = at.map(|at| {
                text[at.saturating_sub(300)..]
                    .chars()
                    .take(400)
                    .collect::<String>()
            });
            assert_eq!(around, None, "{secret}");
        }
    }
}

/// Success and failure; returns what `Debug` and `Display` show.
async fn everything() -> String {
    let mut shown = String::new();
    let etcd = FakeEtcd::start().await;
    etcd.with(|state| state.user = Some(("reader-user".into(), "hunter2".into())));
    etcd.put(&key("a"), value(1));
    etcd.put(&key("bad"), "{");
    for (password, script) in [
        ("hunter2", None),
        ("wrong-pw", None),
        (
            "hunter2",
            Some(OnCall::Fail(
                Code::Unauthenticated,
                "etcdserver: invalid auth token",
            )),
        ),
        (
            "hunter2",
            Some(OnCall::Fail(
                Code::PermissionDenied,
                "etcdserver: permission denied",
            )),
        ),
        ("hunter2", Some(OnCall::Hang)),
    ] {
        let config = config(&[&etcd]).with_user("reader-user", password);
        let _ = write!(shown, "{config:?} {config:#?}");
        let source = discovery(config);
        let _ = write!(shown, "{source:?} {source:#?}");
        etcd.with(|state| state.on_range.extend(script));
        match source.fetch(&order()).await {
            Ok(update) => assert_eq!(ids(&update), ["a"]),
            Err(error) => {
                let _ = write!(shown, "{error} {error:?} {error:#?}");
                let mut cause = std::error::Error::source(&error);
                while let Some(error) = cause {
                    let _ = write!(shown, "{error} {error:?}");
                    cause = error.source();
                }
            }
        }
        #[cfg(feature = "register")]
        {
            use ringfence_discovery::Registrar as _;

            let config = super::config(&[&etcd]).with_user("reader-user", password);
            let registrar = ringfence_etcd::EtcdRegistrar::new(config).expect("legal");
            let instance = ringfence_core::Instance::builder("a", "127.0.0.1:1").build();
            match registrar.register(&order(), instance.expect("legal")).await {
                Ok(registration) => {
                    let _ = write!(shown, "{registrar:?} {registration:?}");
                    registration.deregister().await.expect("gone");
                    etcd.put(&key("a"), value(1));
                }
                Err(error) => {
                    let _ = write!(shown, "{error} {error:?}");
                }
            }
        }
        let mut watch = source.watch(&order());
        for _ in 0..2 {
            if let Err(error) = next(&mut watch).await {
                let _ = write!(shown, "{error} {error:?}");
                break;
            }
        }
    }
    shown
}

//! Lines of the log stand for themselves, and nothing is open for as long as a balancer is.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use ringfence_balancer::{Balancer, BalancerConfig, FlapDampingConfig, HealthCheckConfig};
use ringfence_discovery::{FileDocument, Probe, ProbeError};
use ringfence_policy::PolicyContext;
use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span,
    subscriber::set_default,
};

use crate::support::*;

#[derive(Clone, Default)]
struct Log {
    /// The service of each line, by its message.
    lines: Arc<Mutex<BTreeMap<String, Option<String>>>>,
    spans: Arc<Mutex<Vec<&'static str>>>,
}

#[derive(Default)]
struct Fields {
    message: String,
    service: Option<String>,
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        match field.name() {
            "message" => self.message = format!("{value:?}"),
            "service" => self.service = Some(format!("{value:?}")),
            _ => {}
        }
    }
}

impl Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("ringfence")
    }

    fn new_span(&self, span: &span::Attributes<'_>) -> span::Id {
        let name = span.metadata().name();
        self.spans.lock().expect("no panic").push(name);
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let mut lines = self.lines.lock().expect("no panic");
        lines.insert(fields.message, fields.service);
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

/// Says no to `i1`.
#[derive(Debug)]
struct Refuses;

impl Probe for Refuses {
    fn probe<'a>(
        &'a self,
        instance: &'a ringfence_core::Instance,
    ) -> ringfence_balancer::BoxFuture<'a, Result<(), ProbeError>> {
        let serves = instance.id().as_str() != "i1";
        Box::pin(async move {
            match serves {
                true => Ok(()),
                false => Err(ProbeError::new("refused")),
            }
        })
    }
}

/// A span of the balancer's task would be a trace of its own that never ends, and one of whoever builds it would be kept open.
#[tokio::test(start_paused = true)]
async fn each_line_names_its_service_and_no_span_is_left_open() {
    let log = Log::default();
    let _guard = set_default(log.clone());
    let registry = registry((0..4).map(instance));
    let config = BalancerConfig::default()
        .with_flap_damping(FlapDampingConfig::default())
        .with_max_pools(1)
        .expect("in range");
    let balancer = Balancer::builder(registry.clone(), service())
        .with_config(config)
        .with_health_check(Refuses, HealthCheckConfig::default())
        .with_policy_source(FileDocument::new("/no/such/policy"), PolicyContext::new())
        .build_ready()
        .await
        .expect("ready");
    seconds(60).await;
    let key = key_of(&balancer, "i2");
    fail(&balancer, &key, 5);
    seconds(40).await;
    for _ in 0..3 {
        registry.deregister(service(), "i3");
        seconds(3).await;
        registry.register(service(), instance(3));
        seconds(3).await;
    }
    registry.replace(service(), []);
    tokio::time::sleep(Duration::from_secs(120)).await;
    drop(balancer);

    let lines = log.lines.lock().expect("no panic").clone();
    for expected in [
        "first view",
        "view published",
        "instance ejected",
        "ejection is over",
        "instance fails its checks",
        "instance is back and not used yet",
        "suspicious state held back",
    ] {
        assert!(lines.contains_key(expected), "{expected}: {lines:#?}");
    }
    assert!(lines.keys().any(|line| line.starts_with("the policy")));
    for (message, named) in &lines {
        let expected = service().to_string();
        assert_eq!(named.as_ref(), Some(&expected), "{message}");
    }
    let spans = log.spans.lock().expect("no panic").clone();
    assert!(spans.is_empty(), "{spans:?}");
}

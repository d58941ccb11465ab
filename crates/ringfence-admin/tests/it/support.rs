//! What several tests need.

use std::time::Duration;

use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::BodyExt as _;
use ringfence_admin::{Admin, AdminService};
use ringfence_balancer::{Balancer, FailureKind, Outcome, PickRequest};
use ringfence_core::Instance;
use ringfence_discovery::MemoryRegistry;
use ringfence_policy::{PolicyContext, PolicyDocument};
use serde_json::Value;
use tower_service::Service as _;

pub(crate) const SERVICE: &str = "orders";

pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        let value = self
            .headers
            .get(name)
            .map(|value| value.to_str().expect("text"));
        value.unwrap_or_default()
    }
}

pub(crate) async fn ask(service: &AdminService, request: Request<()>) -> Answer {
    let answer = service.clone().call(request).await.expect("it never fails");
    let (parts, body) = answer.into_parts();
    let body = body.collect().await.expect("whole").to_bytes();
    Answer {
        status: parts.status,
        headers: parts.headers,
        text: String::from_utf8(body.to_vec()).expect("text"),
    }
}

pub(crate) async fn get(service: &AdminService, path: &str) -> Answer {
    let request = Request::builder().method(Method::GET).uri(path);
    ask(service, request.body(()).expect("legal")).await
}

/// Percent-encoded, as a parameter of a query.
pub(crate) fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// Three stable instances and two gray ones, one of them with a tag, and a policy for both.
pub(crate) async fn fleet() -> (MemoryRegistry, Balancer) {
    let registry = MemoryRegistry::new();
    let instances = [
        Instance::builder("gray-1", "10.0.0.4:80").version("gray"),
        Instance::builder("gray-2", "10.0.0.5:80")
            .version("gray")
            .weight(0),
        Instance::builder("stable-1", "10.0.0.1:80")
            .zone("az-1")
            .tag("tenant", "acme-secret"),
        Instance::builder("stable-2", "10.0.0.2:80")
            .zone("az-2")
            .region("eu"),
        Instance::builder("stable-3", "10.0.0.3:80").weight(200),
    ];
    registry.replace(
        SERVICE,
        instances.map(|built| built.build().expect("legal")),
    );
    let text = "
ringfence: 1
gray: { v2: { to: { version: gray } } }
tenants: { acme-secret: { mode: dedicated, strict: true } }
rules:
  - { name: carts, match: [{ path: { prefix: /cart } }], key: [{ header: x-user }], gray: [v2] }
";
    let policy = PolicyDocument::parse_and_compile(text, &PolicyContext::new()).expect("legal");
    let balancer = Balancer::builder(registry.clone(), SERVICE)
        .with_policy(policy)
        .build()
        .expect("legal");
    balancer.ready().await.expect("a view");
    (registry, balancer)
}

/// So many instances, and no policy.
pub(crate) async fn plain(count: usize) -> (MemoryRegistry, Balancer) {
    let registry = MemoryRegistry::new();
    let instances = (1..=count).map(|n| {
        let address = format!("10.{}.{}.{}:80", n >> 16, (n >> 8) & 255, n & 255);
        Instance::builder(format!("orders-{n}"), address)
            .build()
            .expect("legal")
    });
    registry.replace(SERVICE, instances.collect::<Vec<_>>());
    let balancer = Balancer::builder(registry.clone(), SERVICE)
        .build()
        .expect("legal");
    balancer.ready().await.expect("a view");
    (registry, balancer)
}

pub(crate) fn service(balancer: &Balancer) -> AdminService {
    Admin::new().with_balancer(balancer).service()
}

/// Has whoever owns the key fail until it is ejected; its id.
pub(crate) fn fail_owner(balancer: &Balancer, key: &str) -> String {
    let decision = balancer
        .pick(&PickRequest::new().with_key(key))
        .expect("there is one");
    let candidate = decision.candidates().next().expect("one");
    for _ in 0..5 {
        candidate
            .begin()
            .report(Outcome::Failure(FailureKind::Connect));
    }
    candidate.instance().id().to_string()
}

/// Asks for a document until it is as wanted.
pub(crate) async fn until(
    service: &AdminService,
    path: &str,
    is_wanted: impl Fn(&Value) -> bool,
) -> Value {
    for _ in 0..1_000 {
        let document = get(service, path).await.json();
        if is_wanted(&document) {
            return document;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{:#}", get(service, path).await.json());
}

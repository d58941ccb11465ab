//! A balancer on a registry in memory, with its page on a loopback port.

use ringfence_admin::{Admin, AdminServer};
use ringfence_balancer::{Balancer, FailureKind, Outcome, PickRequest};
use ringfence_core::{Instance, InstanceBuilder};
use ringfence_discovery::{FileDocument, MemoryRegistry};
use ringfence_policy::{PolicyContext, RequestHead};

pub(crate) const SERVICE: &str = "orders";

pub(crate) struct Site {
    pub(crate) registry: MemoryRegistry,
    pub(crate) balancer: Balancer,
    server: AdminServer,
}

pub(crate) fn instance(id: &str, place: usize) -> InstanceBuilder {
    Instance::builder(id, format!("10.0.{}.{}:80", place / 200, place % 200 + 1))
}

impl Site {
    pub(crate) async fn of(count: usize) -> Self {
        let ids: Vec<_> = (1..=count).map(|n| format!("orders-{n}")).collect();
        Self::of_ids(&ids).await
    }

    pub(crate) async fn of_ids<I: AsRef<str>>(ids: &[I]) -> Self {
        let registry = MemoryRegistry::new();
        let instances = ids.iter().enumerate();
        let instances =
            instances.map(|(place, id)| instance(id.as_ref(), place).build().expect("legal"));
        registry.replace(SERVICE, instances.collect::<Vec<_>>());
        let site = Self::before_the_first_view(registry).await;
        site.balancer.ready().await.expect("a view");
        site
    }

    /// Where the registry does not know the service, there is no view.
    pub(crate) async fn before_the_first_view(registry: MemoryRegistry) -> Self {
        let balancer = Balancer::builder(registry.clone(), SERVICE)
            .build()
            .expect("legal");
        Self::serving(registry, balancer).await
    }

    async fn serving(registry: MemoryRegistry, balancer: Balancer) -> Self {
        let admin = Admin::new().with_balancer(&balancer);
        let server = admin
            .serve("127.0.0.1:0".parse().expect("legal"))
            .await
            .expect("a port");
        Self {
            registry,
            balancer,
            server,
        }
    }

    /// Three instances, and a policy that is read from a document.
    pub(crate) async fn with_policy_from(document: FileDocument) -> Self {
        let registry = MemoryRegistry::new();
        let ids = (1..=3).map(|n| format!("orders-{n}"));
        let instances = ids.enumerate().map(|(place, id)| instance(&id, place));
        let instances = instances.map(|built| built.build().expect("legal"));
        registry.replace(SERVICE, instances.collect::<Vec<_>>());
        let builder = Balancer::builder(registry.clone(), SERVICE);
        let builder = builder.with_policy_source(document, PolicyContext::new());
        let site = Self::serving(registry, builder.build().expect("legal")).await;
        site.balancer.ready().await.expect("a view");
        site
    }

    /// Requests that went to this instance under a policy that is observed.
    pub(crate) fn observe(&self, requests: usize, instance: &str) {
        for n in 0..requests {
            let request = http::Request::get("/").header("x-user", n);
            let request = request.body(()).expect("legal");
            let head = RequestHead::of(&request);
            let suggestion = self.balancer.read(|current| {
                let evaluation = current.evaluate(&head).expect("it is on");
                current.suggest(&evaluation)
            });
            let suggestion = suggestion.expect("there is a view");
            self.balancer.observed(&suggestion, Some(instance));
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/", self.server.local_addr())
    }

    /// The instance that a key goes to.
    pub(crate) fn owner(&self, key: &str) -> String {
        let decision = self.balancer.pick(&PickRequest::new().with_key(key));
        decision.expect("there is one").instance().id().to_string()
    }

    /// Has an instance fail until it is ejected: as many times in a row as the default allows.
    pub(crate) fn fail(&self, id: &str) {
        let mut failures = 0;
        for key in 0u32.. {
            let decision = self
                .balancer
                .pick(&PickRequest::new().with_key(&key.to_le_bytes()));
            let decision = decision.expect("there is one");
            let candidate = decision.candidates().next().expect("one");
            if candidate.instance().id().as_str() == id {
                candidate
                    .begin()
                    .report(Outcome::Failure(FailureKind::Connect));
                failures += 1;
                if failures == 5 {
                    return;
                }
            }
        }
    }
}

//! A balancer on a registry in memory, with its page on a loopback port.

use ringfence_admin::{Admin, AdminServer};
use ringfence_balancer::{Balancer, FailureKind, Outcome, PickRequest};
use ringfence_core::{Instance, InstanceBuilder};
use ringfence_discovery::MemoryRegistry;

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

//! The generated tonic client, wrapped in the layer, and the tenants that use it.

use std::{collections::BTreeMap, error::Error, time::Duration};

use ringfence::{
    Balancer, BalancerConfig, Idempotent, KeySource, OutlierConfig, RequestTags, Ringfence,
    RingfenceLayer, RoutingKey, TonicConnector,
};
use ringfence_echo::{EchoClient, EchoRequest};
use tokio::task::{JoinError, JoinSet};
use tonic::{Request, Status};

use crate::fleet::{Fleet, GRAY};

/// How many tenants there are; every tenth is gray.
const TENANTS: usize = 1_000;
/// Requests that are under way at the same time.
const CONCURRENCY: usize = 64;

/// A tenant, and the instance that served it.
type Answer = (String, Result<String, Status>);

/// Where each tenant was served, by tenant.
pub(crate) type Homes = BTreeMap<String, String>;

#[derive(Clone)]
pub(crate) struct Client {
    balancer: Balancer,
    echo: EchoClient<Ringfence<TonicConnector>>,
}

impl Client {
    /// This is all that a program does to use Ringfence: a balancer for the service, the layer around the transport, and the
    /// generated client on top.
    pub(crate) fn connect(fleet: &Fleet) -> Result<Self, Box<dyn Error>> {
        // A crashed instance is asked again after a second instead of half a minute, so that the run stays short.
        let outlier = OutlierConfig::default().with_base_ejection_time(Duration::from_secs(1))?;
        let config = BalancerConfig::default().with_outlier(outlier);
        let balancer = Balancer::builder(fleet.registry().clone(), fleet.service().clone())
            .with_config(config)
            .build()?;
        let layer = RingfenceLayer::new(balancer.clone()).with_key(KeySource::extension());
        let echo = EchoClient::new(layer.wrap(TonicConnector::new()));
        Ok(Self { balancer, echo })
    }

    pub(crate) fn balancer(&self) -> &Balancer {
        &self.balancer
    }

    /// One request of a tenant; says which instance answered.
    async fn call(&self, tenant: &str) -> Result<String, Status> {
        let tags = RequestTags::new();
        self.call_with(
            tenant,
            if is_gray(tenant) {
                tags.with_version(GRAY)
            } else {
                tags
            },
        )
        .await
    }

    /// One request with tags of its own.
    pub(crate) async fn call_with(
        &self,
        tenant: &str,
        tags: RequestTags,
    ) -> Result<String, Status> {
        let mut request = Request::new(EchoRequest::new(tenant));
        let extensions = request.extensions_mut();
        extensions.insert(RoutingKey::from(tenant.to_owned()));
        extensions.insert(tags);
        // Echoing twice does no harm, so a call that a crash cut off may be tried on the next instance.
        extensions.insert(Idempotent(true));
        let answer = self.echo.clone().unary(request).await?;
        Ok(answer.into_inner().instance)
    }

    /// One request of every tenant, many at a time.
    pub(crate) async fn round(&self) -> Round {
        let mut round = Round::default();
        let mut running = JoinSet::new();
        for tenant in tenants() {
            if running.len() == CONCURRENCY {
                round.note(running.join_next().await);
            }
            let client = self.clone();
            running.spawn(async move {
                let answer = client.call(&tenant).await;
                (tenant, answer)
            });
        }
        while let Some(done) = running.join_next().await {
            round.note(Some(done));
        }
        round
    }
}

/// What became of one request of every tenant.
#[derive(Default)]
pub(crate) struct Round {
    pub(crate) homes: Homes,
    pub(crate) errors: Vec<String>,
}

impl Round {
    fn note(&mut self, done: Option<Result<Answer, JoinError>>) {
        match done {
            Some(Ok((tenant, Ok(instance)))) => {
                self.homes.insert(tenant, instance);
            }
            Some(Ok((tenant, Err(status)))) => self.errors.push(format!("{tenant}: {status}")),
            Some(Err(error)) => self.errors.push(error.to_string()),
            None => {}
        }
    }
}

pub(crate) fn tenants() -> impl Iterator<Item = String> {
    (0..TENANTS).map(|i| {
        let kind = if i % 10 == 0 { GRAY } else { "tenant" };
        format!("{kind}-{i:04}")
    })
}

pub(crate) fn is_gray(tenant: &str) -> bool {
    tenant.starts_with(GRAY)
}

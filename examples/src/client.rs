use std::{collections::BTreeMap, time::Duration};

use ringfence::{
    Balancer, BalancerBuilder, BalancerConfig, Idempotent, OutlierConfig, Ringfence,
    RingfenceLayer, TonicConnector,
};
use ringfence_echo::{EchoClient, EchoRequest};
use tokio::task::{JoinError, JoinSet};
use tonic::{Request, Status};

use crate::{BoxError, Cluster};

/// Requests that are under way at the same time.
const CONCURRENCY: usize = 64;
/// Half a minute by default, which is long to watch: a crashed server that runs again is used again after this.
const EJECTION: Duration = Duration::from_secs(1);

/// A balancer with a policy, the layer around the transport, and the generated client on top.
#[derive(Clone, Debug)]
pub struct Client {
    balancer: Balancer,
    echo: EchoClient<Ringfence<TonicConnector>>,
}

/// The instance that served each, by name of the request; or why none did.
#[derive(Debug, Default)]
pub struct Answers {
    /// Ids of instances.
    pub homes: BTreeMap<String, String>,
    /// What their statuses say.
    pub errors: BTreeMap<String, String>,
}

impl Client {
    /// Connects to the cluster with a policy that `configure` sets.
    ///
    /// # Errors
    /// When the balancer cannot be built, or gets no first view.
    pub async fn connect(
        cluster: &Cluster,
        configure: impl FnOnce(BalancerBuilder) -> BalancerBuilder,
    ) -> Result<Self, BoxError> {
        let outlier = OutlierConfig::default().with_base_ejection_time(EJECTION)?;
        let builder = Balancer::builder(cluster.registry().clone(), cluster.service().clone())
            .with_config(BalancerConfig::default().with_outlier(outlier));
        let balancer = configure(builder).build()?;
        balancer.ready().await?;
        let layer = RingfenceLayer::new(balancer.clone());
        let echo = EchoClient::new(layer.wrap(TonicConnector::new()));
        Ok(Self { balancer, echo })
    }

    /// The balancer.
    #[must_use]
    pub fn balancer(&self) -> &Balancer {
        &self.balancer
    }

    /// One request; the id of the instance that answered.
    ///
    /// # Errors
    /// When none did.
    pub async fn call(&self, request: Request<EchoRequest>) -> Result<String, Status> {
        let answer = self.echo.clone().unary(request).await?;
        Ok(answer.into_inner().instance)
    }

    /// Many requests with a name each, some at a time.
    pub async fn calls(
        &self,
        requests: impl IntoIterator<Item = (String, Request<EchoRequest>)>,
    ) -> Answers {
        let mut answers = Answers::default();
        let mut running = JoinSet::new();
        for (name, request) in requests {
            if running.len() == CONCURRENCY {
                answers.note(running.join_next().await);
            }
            let client = self.clone();
            running.spawn(async move { (name, client.call(request).await) });
        }
        while let Some(done) = running.join_next().await {
            answers.note(Some(done));
        }
        answers
    }
}

/// A request by its name, and what came of it.
type Done = (String, Result<String, Status>);

impl Answers {
    fn note(&mut self, done: Option<Result<Done, JoinError>>) {
        match done {
            Some(Ok((name, Ok(instance)))) => {
                self.homes.insert(name, instance);
            }
            Some(Ok((name, Err(status)))) => {
                let error = format!("{:?}: {}", status.code(), status.message());
                self.errors.insert(name, error);
            }
            Some(Err(error)) => {
                self.errors.insert("a task".to_owned(), error.to_string());
            }
            None => {}
        }
    }

    /// How many requests each instance served.
    #[must_use]
    pub fn counts(&self) -> BTreeMap<&str, u64> {
        let mut counts = BTreeMap::new();
        for instance in self.homes.values() {
            *counts.entry(instance.as_str()).or_default() += 1;
        }
        counts
    }

    /// The first few errors.
    #[must_use]
    pub fn first_errors(&self) -> Vec<String> {
        let errors = self.errors.iter().take(3);
        errors
            .map(|(name, error)| format!("{name}: {error}"))
            .collect()
    }
}

/// A request of a user, whose name is the key in the policies of the examples.
///
/// # Errors
/// When the name is no legal metadata value.
pub fn request_of(user: &str) -> Result<Request<EchoRequest>, BoxError> {
    let mut request = Request::new(EchoRequest::new(user));
    request.metadata_mut().insert("x-user", user.parse()?);
    // Echoing twice does no harm, so a call that a crash cut off may be tried on the next instance.
    request.extensions_mut().insert(Idempotent(true));
    Ok(request)
}

use ringfence_balancer::{BoxFuture, Probe, ProbeError};
use ringfence_core::Instance;
use tonic_health::pb::{
    HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient,
};

use crate::transport::TonicConnector;

/// Asks an instance by `grpc.health.v1.Health/Check`, the health protocol of gRPC.
///
/// Only the answer `SERVING` passes. A server without that protocol answers `UNIMPLEMENTED` and does not; use
/// [`TcpProbe`](ringfence_balancer::TcpProbe) for it.
///
/// Each check makes a connection of its own by the settings of the connector (TLS, authority, connect timeout) and closes it.
/// It is not among the instance's [`Connections`](crate::Connections), its requests in flight or its outcomes.
///
/// # Examples
/// ```
/// use ringfence_balancer::{Balancer, HealthCheckConfig};
/// use ringfence_discovery::MemoryRegistry;
/// use ringfence_tower::{GrpcHealthProbe, TonicConnector};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let connector = TonicConnector::new();
/// let probe = GrpcHealthProbe::new(connector.clone(), "orders").with_service("shop.v1.Orders");
/// let balancer = Balancer::builder(MemoryRegistry::new(), "orders")
///     .with_health_check(probe, HealthCheckConfig::default())
///     .build()?;
/// # let _ = balancer;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct GrpcHealthProbe {
    connector: TonicConnector,
    authority: String,
    service: String,
}

impl GrpcHealthProbe {
    /// Asks for the health of the whole server. `name` is the service's in the registry, which the connector uses as it does for
    /// requests: for `:authority` and the TLS server name, unless it is set up otherwise.
    #[must_use]
    pub fn new(connector: TonicConnector, name: impl Into<String>) -> Self {
        Self {
            connector,
            authority: name.into(),
            service: String::new(),
        }
    }

    /// Asks for the health of one gRPC service of the server, such as `shop.v1.Orders`; default is the empty name, which stands
    /// for the whole server. One that the server does not know fails.
    #[must_use]
    pub fn with_service(mut self, service: impl Into<String>) -> Self {
        self.service = service.into();
        self
    }
}

impl Probe for GrpcHealthProbe {
    fn probe<'a>(&'a self, instance: &'a Instance) -> BoxFuture<'a, Result<(), ProbeError>> {
        Box::pin(async move {
            let channel = self.connector.own_channel(instance, &self.authority);
            let channel = channel.map_err(|error| {
                ProbeError::new("the instance cannot be called").with_cause(error)
            })?;
            let request = HealthCheckRequest {
                service: self.service.clone(),
            };
            let answer = HealthClient::new(channel).check(request).await;
            let answer = answer.map_err(|status| {
                ProbeError::new(format!("{}: {}", status.code(), status.message()))
                    .with_cause(status)
            })?;
            match answer.into_inner().status() {
                ServingStatus::Serving => Ok(()),
                other => Err(ProbeError::new(other.as_str_name())),
            }
        })
    }
}

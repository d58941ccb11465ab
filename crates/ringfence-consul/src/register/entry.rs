//! One registered instance: the calls that put it, keep it and take it out.

use std::{sync::Arc, time::Duration};

use consulrs::api::{
    check::requests::{DeregisterCheckRequest, TtlCheckPassRequest},
    service::requests::{DeregisterServiceRequest, EnableMaintenanceRequest},
};
use http::StatusCode;
use ringfence_core::Instance;
use ringfence_discovery::{BoxFuture, DiscoveryError, Liveness, RegistryEntry, ServiceKey};
use rustify::endpoint::Endpoint;

use super::{
    Shared,
    definition::{definition, health_check, heartbeat_check, is_drained, service_id},
};
use crate::api::Refusal;

/// The driver of the registration bounds each call by a shorter time of its own.
const LIMIT: Duration = Duration::from_secs(60);

pub(super) struct AgentEntry {
    shared: Arc<Shared>,
    namespace: Option<String>,
    service: String,
    id: String,
}

impl AgentEntry {
    pub(super) fn new(
        shared: Arc<Shared>,
        namespace: Option<String>,
        service: &ServiceKey,
        instance: &Instance,
    ) -> Self {
        Self {
            shared,
            namespace,
            service: service.name().to_owned(),
            id: service_id(service.name(), instance),
        }
    }

    async fn call<E: Endpoint>(&self, endpoint: E) -> Result<(), Refusal> {
        let namespace = self.namespace.as_deref();
        let call = self.shared.api.call(endpoint, namespace, LIMIT);
        call.await.map(drop)
    }

    async fn put(&self, instance: &Instance) -> Result<(), DiscoveryError> {
        let Shared {
            config, register, ..
        } = &*self.shared;
        let definition = definition(&self.service, instance, &config.mapping, register)?;
        self.call(definition)
            .await
            .map_err(|refusal| refusal.error)?;
        // What an earlier process of the same id left behind outlives its definition, so both are set, not assumed.
        if instance.is_healthy() {
            let healthy = DeregisterCheckRequest {
                check: health_check(&self.id),
                ..DeregisterCheckRequest::default()
            };
            unless_unknown(self.call(healthy).await)?;
        }
        let maintenance = EnableMaintenanceRequest {
            id: self.id.clone(),
            enable: is_drained(instance),
            ..EnableMaintenanceRequest::default()
        };
        self.call(maintenance)
            .await
            .map_err(|refusal| refusal.error)
    }

    async fn beat(&self) -> Result<Liveness, DiscoveryError> {
        let pass = TtlCheckPassRequest {
            check: heartbeat_check(&self.id),
            ..TtlCheckPassRequest::default()
        };
        match self.call(pass).await {
            Ok(()) => Ok(Liveness::Alive),
            Err(refusal) if is_unknown(&refusal) => Ok(Liveness::Gone),
            Err(refusal) => Err(refusal.error),
        }
    }

    async fn remove(&self) -> Result<(), DiscoveryError> {
        let remove = DeregisterServiceRequest {
            id: self.id.clone(),
            ..DeregisterServiceRequest::default()
        };
        unless_unknown(self.call(remove).await)
    }
}

impl RegistryEntry for AgentEntry {
    fn put<'a>(&'a mut self, instance: &'a Instance) -> BoxFuture<'a, Result<(), DiscoveryError>> {
        Box::pin(Self::put(self, instance))
    }

    fn keep_alive(&mut self) -> BoxFuture<'_, Result<Liveness, DiscoveryError>> {
        Box::pin(self.beat())
    }

    fn remove(&mut self) -> BoxFuture<'_, Result<(), DiscoveryError>> {
        Box::pin(Self::remove(self))
    }
}

fn unless_unknown(outcome: Result<(), Refusal>) -> Result<(), DiscoveryError> {
    match outcome {
        Err(refusal) if !is_unknown(&refusal) => Err(refusal.error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Whether the agent has no such check or service: 404 from newer agents, 500 with a text from older ones.
fn is_unknown(refusal: &Refusal) -> bool {
    let text = refusal.error.message();
    match refusal.status {
        Some(StatusCode::NOT_FOUND) => text.contains("nknown"),
        Some(StatusCode::INTERNAL_SERVER_ERROR) => [
            "nknown check",
            "nknown service",
            "does not have associated TTL",
        ]
        .iter()
        .any(|known| text.contains(known)),
        _ => false,
    }
}

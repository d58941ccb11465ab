use std::collections::HashMap;

use nacos_sdk::api::naming::ServiceInstance;
use ringfence_core::{Instance, Weight};
use ringfence_discovery::{DiscoveryError, ErrorKind, Field, FieldMapping, FieldSource};

use crate::{
    NAME, NacosConfig,
    names::{self, DEFAULT_CLUSTER},
};

/// How instances are written.
#[derive(Clone, Debug)]
pub(super) struct Form {
    mapping: FieldMapping,
    cluster: String,
    persistent: bool,
}

impl Form {
    pub(super) fn new(config: &NacosConfig, persistent: bool) -> Self {
        let mut clusters = config.clusters.iter();
        let cluster = match (clusters.next(), clusters.next()) {
            (Some(only), None) => only.clone(),
            _ => DEFAULT_CLUSTER.to_owned(),
        };
        Self {
            mapping: config.mapping.clone(),
            cluster,
            persistent,
        }
    }

    /// What the server is sent for an instance, so that the mapping reads it back.
    pub(super) fn fill(&self, instance: &Instance) -> Result<ServiceInstance, DiscoveryError> {
        let metadata = self
            .mapping
            .describe(instance)
            .map_err(|error| refused(error.to_string()))?;
        Ok(ServiceInstance {
            instance_id: None,
            ip: instance.address().host().to_owned(),
            port: instance.address().port().into(),
            weight: self.weight(instance),
            healthy: instance.is_healthy(),
            enabled: instance.is_enabled(),
            ephemeral: !self.persistent,
            cluster_name: Some(self.cluster(instance)?),
            service_name: None,
            metadata: HashMap::from_iter(metadata),
        })
    }

    fn weight(&self, instance: &Instance) -> f64 {
        let ordinary = self.mapping.registry_ordinary_weight();
        let ordinary = ordinary.map_or(1.0, |ordinary| f64::from(ordinary.get()));
        f64::from(instance.weight().get()) / f64::from(Weight::DEFAULT.get()) * ordinary
    }

    /// The zone, where the mapping has no other place for it.
    fn cluster(&self, instance: &Instance) -> Result<String, DiscoveryError> {
        let sources = self.mapping.sources(Field::Zone);
        let in_metadata = sources
            .iter()
            .any(|source| matches!(source, FieldSource::Meta(_)));
        match instance.zone() {
            Some(zone) if !in_metadata && sources.contains(&FieldSource::Registry) => {
                names::check("zone", zone).map_err(|error| refused(error.to_string()))?;
                Ok(zone.to_owned())
            }
            _ => Ok(self.cluster.clone()),
        }
    }
}

fn refused(message: String) -> DiscoveryError {
    DiscoveryError::new(ErrorKind::Config, NAME, message)
}

//! One question to the health endpoint, and its answer.

use std::{sync::Arc, time::Duration};

use consulrs::api::features::{Blocking, ConsistencyMode, Features};
use http::HeaderMap;
use ringfence_core::Instance;
use ringfence_discovery::{
    DiscoveryError, ErrorKind, Provenance, RejectedRecord, ServiceKey, Update,
};
use tokio::sync::Semaphore;

use crate::{
    Consistency, ConsulConfig, ConsulConfigError, KeyNamespace, NAME,
    api::{Api, Refusal},
    endpoint::HealthService,
    pace::Services,
    record::{self, Parsed},
};

#[derive(Debug)]
pub(crate) struct Reader {
    pub(crate) config: ConsulConfig,
    pub(crate) services: Services,
    pub(crate) watches: Arc<Semaphore>,
    api: Api,
}

/// What was asked for, whole.
pub(crate) struct Reading<T> {
    /// Where the next question may wait from. `None`: there is no such place.
    pub(crate) index: Option<u64>,
    pub(crate) content: T,
}

/// A whole list.
pub(crate) struct Listed {
    instances: Vec<Instance>,
    rejected: Vec<RejectedRecord>,
}

impl Reading<Listed> {
    /// `ordered`: later states have higher indexes than this one, as far as we know.
    pub(crate) fn into_update(self, ordered: bool) -> Update {
        let Listed {
            instances,
            rejected,
        } = self.content;
        let update = Update::instances(instances, Provenance::live(NAME)).with_rejected(rejected);
        match self.index {
            Some(index) if ordered => update.with_revision(index),
            _ => update,
        }
    }
}

impl Reader {
    pub(crate) fn new(config: ConsulConfig) -> Result<Self, ConsulConfigError> {
        Ok(Self {
            api: Api::new(&config)?,
            services: Services::default(),
            watches: Arc::new(Semaphore::new(
                config.max_watches.min(Semaphore::MAX_PERMITS),
            )),
            config,
        })
    }

    /// Asks for the instances now, or, with an index, when they have changed after it or the time is over.
    pub(crate) async fn read(
        &self,
        service: &ServiceKey,
        blocking: Option<(u64, Duration)>,
        consistency: Consistency,
    ) -> Result<Reading<Listed>, Refusal> {
        let config = &self.config;
        let (datacenter, namespace) = match config.key_namespace {
            KeyNamespace::Datacenter => (service.namespace(), None),
            KeyNamespace::Namespace => (None, service.namespace()),
        };
        let endpoint = HealthService {
            name: service.name().to_owned(),
            tags: config.tags.clone(),
            datacenter: datacenter
                .or(config.datacenter.as_deref())
                .map(str::to_owned),
            features: Features {
                blocking: blocking.map(|(index, wait)| Blocking {
                    index,
                    wait: Some(format!("{}ms", wait.as_millis())),
                }),
                cached: None,
                filter: config.filter.clone(),
                mode: mode(consistency),
            },
        };
        let limit = limit(config, blocking);
        let answer = self.api.call(endpoint, namespace, limit).await?;
        let index = index(&answer.headers)?;
        let Parsed {
            instances,
            rejected,
            altered,
        } = record::parse(&answer.body, config)?;
        if altered > 0 {
            tracing::debug!(%service, altered, "metadata entries were left out or cut");
        }
        if instances.is_empty()
            && rejected.is_empty()
            && says(&answer.headers, "x-consul-results-filtered-by-acls", "true")
        {
            let message = "the token may not see the instances";
            return Err(DiscoveryError::new(ErrorKind::Unauthorized, NAME, message).into());
        }
        Ok(Reading {
            index,
            content: Listed {
                instances,
                rejected,
            },
        })
    }

    /// Asks the leader, past what any other server may remember.
    pub(crate) async fn confirm(
        &self,
        service: &ServiceKey,
    ) -> Result<Reading<Listed>, DiscoveryError> {
        self.read(service, None, confirming(self.config.consistency))
            .await
            .map_err(|refusal| refusal.error)
    }
}

/// What a question says of the servers that may answer.
pub(crate) fn mode(consistency: Consistency) -> Option<ConsistencyMode> {
    match consistency {
        Consistency::Leader => None,
        Consistency::Consistent => Some(ConsistencyMode::CONSISTENT),
        Consistency::Stale => Some(ConsistencyMode::STALE),
    }
}

/// Of a question that is to be the last word.
pub(crate) fn confirming(consistency: Consistency) -> Consistency {
    match consistency {
        Consistency::Stale | Consistency::Leader => Consistency::Leader,
        Consistency::Consistent => Consistency::Consistent,
    }
}

/// How long an answer may take.
pub(crate) fn limit(config: &ConsulConfig, blocking: Option<(u64, Duration)>) -> Duration {
    // Consul lengthens a wait by up to a sixteenth.
    let held = blocking.map_or(Duration::ZERO, |(_, wait)| wait + wait / 16);
    held + config.slack
}

/// The index of an answer, if the server that gave it is to be believed.
pub(crate) fn index(headers: &HeaderMap) -> Result<Option<u64>, DiscoveryError> {
    if says(headers, "x-consul-knownleader", "false") {
        let message = "the server knows no leader, so what it has may be old";
        return Err(DiscoveryError::new(ErrorKind::Unavailable, NAME, message));
    }
    Ok(number(headers, "x-consul-index").filter(|index| *index > 0))
}

fn number(headers: &HeaderMap, name: &str) -> Option<u64> {
    headers.get(name)?.to_str().ok()?.trim().parse().ok()
}

fn says(headers: &HeaderMap, name: &str, value: &str) -> bool {
    let mut all = headers.get_all(name).iter();
    all.any(|text| {
        text.as_bytes()
            .trim_ascii()
            .eq_ignore_ascii_case(value.as_bytes())
    })
}

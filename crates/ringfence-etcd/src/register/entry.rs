//! One record, and the lease that it lives by.

use std::sync::Arc;

use ringfence_core::Instance;
use ringfence_discovery::{
    BoxFuture, DiscoveryError, ErrorKind, Liveness, RegistryEntry, ServiceKey,
};

use super::write::{self, Found};
use crate::{
    EncodeError, NAME,
    connection::{Failure, Fault, Link, Pool},
};

pub(super) struct Entry {
    pool: Arc<Pool>,
    service: ServiceKey,
    prefix: String,
    lease: Option<i64>,
    /// The key that was written with the lease, while it is to be there, and at which revision.
    key: Option<(String, i64)>,
    /// Keeps the connection.
    link: Option<Arc<Link>>,
}

impl Entry {
    pub(super) fn new(pool: Arc<Pool>, service: ServiceKey, prefix: String) -> Self {
        Self {
            pool,
            service,
            prefix,
            lease: None,
            key: None,
            link: None,
        }
    }

    async fn write(&mut self, instance: &Instance) -> Result<(), DiscoveryError> {
        let codec = &self.pool.config().codec;
        let name = codec.record_name(instance).map_err(illegal)?;
        let record = codec.encode(&self.service, instance).map_err(illegal)?;
        let key = format!("{}{name}", self.prefix);
        let value = record.as_ref().map(|record| record.value());
        match self.write_leased(&key, value).await {
            // It ended since the last heartbeat.
            Err(failure) if failure.fault == Fault::NoLease => {
                self.lease = None;
                self.write_leased(&key, value).await
            }
            other => other,
        }
        .map_err(|failure| self.told(failure))
    }

    fn told(&self, failure: Failure) -> DiscoveryError {
        let failure = failure.of_keys(&self.service, &self.prefix);
        failure.into_discovery(NAME)
    }

    async fn write_leased(&mut self, key: &str, value: Option<&[u8]>) -> Result<(), Failure> {
        let lease = match self.lease {
            Some(lease) => lease,
            None => {
                let (lease, link) = write::grant(&self.pool).await?;
                self.link = Some(link);
                *self.lease.insert(lease)
            }
        };
        match value {
            Some(value) => {
                let revision = write::put(&self.pool, key, value, lease).await?;
                self.key = Some((key.to_owned(), revision));
            }
            None => {
                self.key = None;
                write::delete_own(&self.pool, key, lease).await?;
            }
        }
        Ok(())
    }

    async fn renew(&mut self) -> Result<Liveness, Failure> {
        let Some(lease) = self.lease else {
            return Ok(Liveness::Gone);
        };
        match write::keep_alive(&self.pool, lease).await {
            Ok(link) => self.link = Some(link),
            Err(failure) if failure.fault == Fault::NoLease => {
                self.lease = None;
                return Ok(Liveness::Gone);
            }
            Err(failure) => return Err(failure),
        }
        let Some((key, revision)) = &self.key else {
            return Ok(Liveness::Alive);
        };
        match write::find(&self.pool, key, lease, *revision).await? {
            Found::Own => Ok(Liveness::Alive),
            // It may say what the instance was long ago.
            Found::Late => Ok(Liveness::Gone),
            // Nothing would ever end a record without a lease.
            Found::Nothing | Found::Unleased => Ok(Liveness::Gone),
            Found::Other => {
                tracing::debug!(service = %self.service, %key, "another process has registered this key");
                Ok(Liveness::Alive)
            }
        }
    }
}

impl RegistryEntry for Entry {
    fn put<'a>(&'a mut self, instance: &'a Instance) -> BoxFuture<'a, Result<(), DiscoveryError>> {
        Box::pin(self.write(instance))
    }

    fn keep_alive(&mut self) -> BoxFuture<'_, Result<Liveness, DiscoveryError>> {
        Box::pin(async move { self.renew().await.map_err(|failure| self.told(failure)) })
    }

    fn remove(&mut self) -> BoxFuture<'_, Result<(), DiscoveryError>> {
        Box::pin(async move {
            // The record goes with its lease; one that somebody else wrote since stays.
            if let Some(lease) = self.lease {
                let revoked = write::revoke(&self.pool, lease).await;
                revoked.map_err(|failure| self.told(failure))?;
                self.lease = None;
            }
            Ok(())
        })
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is for `map_err`")]
fn illegal(error: EncodeError) -> DiscoveryError {
    DiscoveryError::new(ErrorKind::Config, NAME, error.to_string())
}

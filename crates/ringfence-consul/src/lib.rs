//! Consul as a source of instances for Ringfence.
mod api;
mod config;
mod discovery;
mod endpoint;
mod entry;
mod error;
mod pace;
mod read;
mod record;
#[cfg(feature = "register")]
mod register;
mod tls;
mod token;
mod transport;
mod watch;

#[cfg(feature = "register")]
pub use self::register::{ConsulRegisterConfig, ConsulRegistrar};
pub use self::{
    config::{Consistency, ConsulConfig, InstanceIdentity, KeyNamespace, WarningPolicy},
    discovery::ConsulDiscovery,
    error::ConsulConfigError,
    tls::ConsulTls,
    token::ConsulToken,
};

/// Name of the source.
const NAME: &str = "consul";

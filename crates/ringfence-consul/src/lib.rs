//! Consul as a source of instances for Ringfence, and, with the feature `register`, as a place to register them.
//!
//! [`ConsulDiscovery`] asks `/v1/health/service/:name` by blocking queries. It stands on the request types of `consulrs`, sent
//! by a transport of its own: no redirects, no proxies, nothing from the environment, every wait and every body bounded.
//!
//! All who watch one service through one [`ConsulDiscovery`] and its clones share one query, so that a process has one connection
//! per service; see [`ConsulConfig::with_max_watches`] for the limit.
//!
//! [`ConsulKv`] watches a document in the key-value store, such as a policy, in the same way.
//!
//! Not here: backoff, resync and the guard against empty lists, which the
//! [`Supervisor`](ringfence_discovery::Supervisor) has for all sources; Consul's agent-local health and its service mesh.
//!
//! A program that depends on `ringfence` gives the source to a balancer, and needs no supervisor of its own:
//! `Balancer::builder(ConsulDiscovery::new(config)?, "order").build()?`.
//!
//! # Example
//! ```no_run
//! use std::sync::Arc;
//! use ringfence_consul::{ConsulConfig, ConsulDiscovery};
//! use ringfence_discovery::{Event, ServiceKey, Supervisor, WatchConfig};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let consul = ConsulDiscovery::new(ConsulConfig::new("http://127.0.0.1:8500"))?;
//! let order = ServiceKey::new("order");
//! let mut supervisor = Supervisor::new(Arc::new(consul), order, WatchConfig::default());
//! loop {
//!     if let Event::Snapshot(accepted) = supervisor.next().await {
//!         println!("{} instances", accepted.snapshot.len());
//!     }
//! }
//! # }
//! ```
//!
//! # What becomes of a record
//! | in Consul | in Ringfence |
//! |---|---|
//! | datacenter, node and service id | the id `dc/node/service-id`, or see [`InstanceIdentity`]; metadata `ringfence-id` goes before |
//! | service address, else node address, and port | the address; port 0 and ports above 65,535 are rejected |
//! | worst of all checks of service and node | passing and [warning](WarningPolicy): healthy; critical or unknown: unhealthy |
//! | maintenance of service or node | disabled: no traffic, not even in panic |
//! | `Weights.Passing`, in warning `Weights.Warning`, of which an ordinary instance has 1 | the weight, of which an ordinary instance has 100; metadata `weight` goes before |
//! | metadata, `key=value` tags, locality | version, zone, region, tenant, scheme and tags, as the [`FieldMapping`](ringfence_discovery::FieldMapping) says |
//!
//! A record that is no instance is left out, with a reason, and the others are used.
//!
//! # What becomes of an answer
//! | answer | becomes |
//! |---|---|
//! | 200 with a whole list | the state, also if nothing changed, as a sign of life |
//! | an index below the last one | asked again, of the leader without an index, before it is believed: Consul's data start anew, or a server lags behind |
//! | no index, 0, or one that is no number | the state, and the next query does not wait; four queries may follow each other at once, then two a second do |
//! | 504 to a query that waits | no alarm: asked again with the same index and a shorter wait |
//! | 403, 401; an empty list of what the token may see | [`Unauthorized`](ringfence_discovery::ErrorKind::Unauthorized) |
//! | 429, 5xx, silence, a broken connection, "no known leader" | [`Unavailable`](ringfence_discovery::ErrorKind::Unavailable) |
//! | 400 | [`Config`](ringfence_discovery::ErrorKind::Config): such as a namespace that the server does not have |
//! | a redirect, other statuses | [`Protocol`](ringfence_discovery::ErrorKind::Protocol) |
//! | a body that is cut off, too large, or no list | [`Malformed`](ringfence_discovery::ErrorKind::Malformed) |
//!
//! Servers before 1.11 answer a request without a token, where one is needed, by an empty list and do not tell. That looks like
//! a service without instances, and only the supervisor's guard stands between it and an empty pool: check that the token
//! arrives.
//!
//! # Features
//! | feature | default | brings |
//! |---|---|---|
//! | `register` | no | `ConsulRegistrar`; without it nothing in this crate writes |
//!
//! # Building
//! `consulrs` links OpenSSL, though this crate's connections use rustls: the build needs its headers (`libssl-dev` and
//! `pkg-config` on Debian).

mod api;
mod config;
mod discovery;
mod endpoint;
mod entry;
mod error;
mod kv;
mod pace;
mod poll;
mod read;
mod record;
#[cfg(feature = "register")]
mod register;
mod shared;
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
    kv::ConsulKv,
    tls::ConsulTls,
    token::ConsulToken,
};

/// Name of the source.
const NAME: &str = "consul";

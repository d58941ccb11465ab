//! Nacos as a source of instances, on `nacos-sdk`, and (with the feature `register`) registration with it.
//!
//! [`NacosDiscovery`] watches services for a `Balancer` or a `Supervisor`; `NacosRegistrar` keeps servers registered. Which
//! metadata becomes version, zone, tenant and so on is the table of
//! [`FieldMapping::for_nacos`](ringfence_discovery::FieldMapping::for_nacos), of which each line can be changed.
//!
//! [`NacosConfigDocument`] watches a document in Nacos's configuration service, such as a policy.
//!
//! Not here: TLS (the client library has it for all connections of a process or for none), and
//! copies of lists on disk, which `WatchConfig::with_disk_snapshots` brings for all sources.
//!
//! A program that depends on `ringfence` gives the source to a balancer, and needs no supervisor of its own:
//! `Balancer::builder(NacosDiscovery::new(config), "order").build()?`.
//!
//! # Example
//! ```no_run
//! use std::sync::Arc;
//! use ringfence_discovery::{Event, ServiceKey, Supervisor, WatchConfig};
//! use ringfence_nacos::{NacosConfig, NacosDiscovery, NacosLogin};
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let config = NacosConfig::new(["nacos-1:8848", "nacos-2:8848"])?
//!     .with_namespace("prod")?
//!     .with_login(NacosLogin::new("reader", std::env::var("NACOS_PASSWORD")?));
//! let order = ServiceKey::new("order").with_namespace("SHOP"); // a Nacos group
//! let source = Arc::new(NacosDiscovery::new(config));
//! let mut supervisor = Supervisor::new(source, order, WatchConfig::default());
//! while let Event::Snapshot(accepted) = supervisor.next().await {
//!     println!("{} instances", accepted.snapshot.len());
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # How Nacos's fields are read
//! | Nacos | becomes |
//! |---|---|
//! | `ip`, `port` | the address; what is none is rejected and counted |
//! | `weight` | 1.0 is 100; scaled before it is rounded, so 0.01 is 1 and nothing above 0 becomes 0; 0 drains; negative or not a number: rejected |
//! | `healthy` | health: an unhealthy instance stays on the ring and is skipped |
//! | `enabled` | enabled: a disabled one gets no traffic, not even in panic |
//! | `clusterName` | the zone, unless it is `DEFAULT` or metadata has one; [`NacosConfig::with_clusters`] chooses by it |
//! | `metadata` | fields and tags by the mapping; `preserved.*` and `nacos.*` are not routed on |
//! | `ephemeral` | nothing: both kinds are read |
//! | identity | metadata `ringfence-id`, else `ip:port`, with `cluster@` before it where the cluster has a name |
//!
//! # What the client library makes necessary
//! | it | therefore here |
//! |---|---|
//! | announces changes out of order, the oldest last | an announcement only makes the list be read |
//! | calls a subscription made that the server refused, or forgot | the list is read every 10 s as well; a change found so, every recovery, and every connection that ends or is made, renews the subscription |
//! | cannot be shut down: a dropped one keeps its socket, tasks and registrations | one per servers, namespace and login **for the life of the process**; watching and ending to watch never adds a connection |
//! | ends everybody's subscription with one watcher's | one subscription per service, counted; the last watcher ends it |
//! | waits up to 64 s before it connects anew, and for ever for a hung server | it connects to a relay on a loopback port of this process, which finds a server within a second. Where no port can be had, it connects directly |
//! | puts the password into URLs and logs | the login is done here: in the body of a POST, renewed in time, with no redirect and no proxy |
//! | has no time limits | each call has one |
//! | turns its own failures into empty lists in its cached reads | those are not used. What is left: a server that answers without a list (`hosts` null) looks like one with an empty list |
//! | reads a list as a whole | a record that lacks a field or is no UTF-8 fails the read as [`Malformed`](ringfence_discovery::ErrorKind::Malformed), and the last list stays; other bad records are left out one by one |
//! | writes lists to disk | into a private folder, from which nothing is read, and which a later process removes once this one has ended (Linux) |
//! | logs lists with their metadata at INFO, and at ERROR what is retried here | nothing to be done here: set the target `nacos_sdk` to `off`, and keep secrets out of metadata |
//! | answers reads of configurations from its own memory once they are listened to, and panics on odd answers | configurations are read and listened to over HTTP, without the library: nothing of them outlives a watch |
//!
//! Its one thread and that of the relay live as long as the process; readers run on the caller's runtime and end with their
//! last watcher.
//!
//! # Features
//! | feature | default | brings |
//! |---|---|---|
//! | `register` | no | `NacosRegistrar`; without it this crate has no call that writes |

mod auth;
mod client;
mod config;
mod discovery;
mod document;
mod error;
mod failure;
mod hub;
mod login;
mod names;
mod naming;
mod records;
#[cfg(feature = "register")]
mod register;
mod relay;
#[cfg(test)]
mod scripted;
mod sdk;
mod server;

pub use self::{
    config::NacosConfig, discovery::NacosDiscovery, document::NacosConfigDocument,
    error::NacosConfigError, login::NacosLogin,
};

#[cfg(feature = "register")]
pub use self::register::NacosRegistrar;

/// Name of the source in logs, errors and provenance.
const NAME: &str = "nacos";

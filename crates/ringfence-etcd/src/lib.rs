//! Discovery of instances in etcd, for Ringfence, and registration with it.
//!
//! [`EtcdDiscovery`] is a [`Discovery`](ringfence_discovery::Discovery) on top of `etcd-client`, which by itself resumes no
//! watch, retries no call and turns to no other server. How keys and values are laid out is a [`Codec`]: Ringfence's own, those
//! of go-kratos, kitex and gRPC naming, or one that you write.
//!
//! [`EtcdKey`] watches one key that holds a document, such as a policy.
//!
//! Not here: backoff, periodic reading and protection against empty lists, which the supervisor of `ringfence-discovery` does
//! for all registries; leases and writing, unless the feature `register` is on. A consumer needs read access to the prefixes of
//! its services and nothing else.
//!
//! A program that depends on `ringfence` gives the source to a balancer: `Balancer::builder(discovery, "order").build()?`.
//!
//! # Example
//! ```no_run
//! use ringfence_discovery::{Discovery as _, ServiceKey};
//! use ringfence_etcd::{EtcdConfig, EtcdDiscovery, EtcdTls};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let ca = std::fs::read("/etc/etcd/ca.pem")?;
//! let config = EtcdConfig::new(["etcd-0.etcd:2379", "etcd-1.etcd:2379", "etcd-2.etcd:2379"])
//!     .with_tls(EtcdTls::with_ca(ca)?)
//!     .with_user("order-reader", std::env::var("ETCD_PASSWORD")?);
//! let discovery = EtcdDiscovery::new(config)?;
//! let update = discovery.fetch(&ServiceKey::new("order")).await?;
//! println!("{} instances", update.state.instance_count());
//! # Ok(())
//! # }
//! ```
//!
//! # Features
//! | feature | default | brings |
//! |---|---|---|
//! | `register` | no | `EtcdRegistrar`: register, keep alive, update, drain, deregister |
//! | `native-roots` | no | `EtcdTls::with_native_roots` |
//!
//! Building needs `protoc` (Debian: `protobuf-compiler`), which `etcd-client` calls. etcd 3.4 or later is needed.
//!
//! # Guarantees
//! | about | what holds |
//! |---|---|
//! | Completeness | A list is read in pages of one revision, and the watch starts at the revision after it. A list that cannot be had in whole is an error. |
//! | Transactions | What one transaction changes is reported in one step. |
//! | Compaction | A watch whose start is gone leads to a new list; what was deleted meanwhile is gone. At once the first time, then after waits. |
//! | Silence | A silent watch is asked for its progress every 10 s ± 20 %; without an answer within 3 s another server is used. Servers without a leader answer nothing. |
//! | Failover | A call that fails for the server's sake goes to each other server once, at once. |
//! | Access | A token that is not accepted is renewed once; refused credentials are tried a few times a minute at most. No user, password or token is in a log line, `Debug` or error message. |
//! | Bad records | One that cannot be read, is over 64 KiB, or has a key that is not UTF-8 is left out and told in [`Update::rejected`](ringfence_discovery::Update::rejected); nothing of its earlier value is kept. |
//! | Memory | At most 50,000 keys per service and 16 MiB per message. |
//! | Lifetime | All streams of one `EtcdDiscovery` share one connection, which is closed with the last of them. |

mod clip;
mod codec;
mod config;
mod connection;
mod credentials;
mod discovery;
mod document;
mod error;
#[cfg(feature = "register")]
mod register;
mod tls;
mod watch;

pub use self::{
    codec::{Codec, DecodeError, GrpcNamingCodec, KitexCodec, KratosCodec, NativeCodec, Record},
    config::EtcdConfig,
    credentials::Credentials,
    discovery::EtcdDiscovery,
    document::EtcdKey,
    error::EtcdConfigError,
    tls::EtcdTls,
};
#[cfg(feature = "register")]
pub use self::{
    codec::{EncodeError, EncodedRecord},
    register::EtcdRegistrar,
};

/// Name of the source.
const NAME: &str = "etcd";

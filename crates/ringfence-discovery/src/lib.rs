//! Where the instances of a service come from, and a supervisor that keeps the news of them trustworthy.
//!
//! [`Discovery`] is the contract of a source: a stream of full states of a service, and a read of its current one. Three
//! sources are here: [`StaticDiscovery`], [`MemoryRegistry`] and, with the feature `file`, `FileDiscovery`. Those for Consul,
//! Nacos and etcd are crates of their own on the same contract, and one of your own takes a page of code, shown at
//! [`Discovery`].
//!
//! [`Supervisor`] watches one service through any source and reports [`Event`]s: it tries again with backoff, reads in full
//! from time to time, notices silence, and does not believe at once that most instances are gone.
//!
//! [`DocumentSource`] is the contract of a place that holds one text, such as a policy: [`StaticDocument`], with the feature
//! `file` `FileDocument`, and those of the crates for Consul, Nacos and etcd. What the text means is for others to say.
//!
//! Not here: pools, rings and picking (`ringfence-core`, `ringfence-balancer`), tasks (the owner of a supervisor polls it),
//! the registries themselves (with the feature `register` there is what their registrars share), and when to check the health of
//! instances: a [`Probe`] asks one once.
//!
//! # Example
//! ```
//! use std::sync::Arc;
//! use ringfence_core::Instance;
//! use ringfence_discovery::{Event, MemoryRegistry, ServiceKey, Supervisor, WatchConfig};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let registry = MemoryRegistry::new();
//! let order = ServiceKey::new("order");
//! registry.register(&order, Instance::builder("order-1", "10.0.0.1:8080").build()?);
//!
//! let mut supervisor = Supervisor::new(Arc::new(registry.clone()), order.clone(), WatchConfig::default());
//! for expected in [1, 2] {
//!     match supervisor.next().await {
//!         Event::Snapshot(accepted) => assert_eq!(accepted.snapshot.len(), expected),
//!         Event::NoSuchService => println!("no service of that name"),
//!         Event::Status(status) => println!("stale: {}", status.is_stale()),
//!         _ => {}
//!     }
//!     registry.register(&order, Instance::builder("order-2", "10.0.0.2:8080").build()?);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Features
//! | feature | default | brings |
//! |---|---|---|
//! | `disk` | yes | `DiskSnapshots`: copies on disk, for starts while the registry is away |
//! | `file` | yes | `FileDiscovery`, `FileDocument` and `parse_instances_file`, with a YAML reader |
//! | `register` | no | `Registrar` and `Registration`, for servers that register themselves |
//!
//! # Guarantees
//! | about | what holds |
//! |---|---|
//! | Errors | An error is never an empty list. Whatever fails, the last reported snapshot stays valid and nothing is reported in its place. |
//! | Empty states | Losing all instances, the service, or more than half of the instances is reported only after 10 s and a fresh reading that says the same; instances shown meanwhile end the wait. The first state is reported at once. With a [probe](Supervisor::with_loss_probe) the wait lasts up to ten times as long while most of the lost instances answer, and ends with the next reading if none does. |
//! | Order | A state that is older than a reported one, as far as revisions or the order of asking can tell, is not reported. A registry that was reset to low revisions is believed once a fresh read confirms it. |
//! | Completeness | Every reported snapshot is whole and checked; bad records are left out, counted and shown. Of several changes in a row the last one is reported, the others may be skipped. |
//! | Staleness | A change that a dead watch does not tell is found by a read: within 23 s (three quarters of `stale_after`) where the registry was silent, else within the resync interval. Data without contact for 30 s is marked and stays in use. |
//! | Load | Waits after failures are drawn from zero to a ceiling that doubles from 100 ms to 3 s. A read has a time limit and at most one is under way per service. |
//! | Copies on disk | Off by default. Only what the registry confirmed is written, whole or not at all, and readable for this user only. A copy is used at a start alone, while the watch is tried, marked as stale, until the first live list; a file that is cut, altered, too old, of something else or open to others is ignored and counted. A disk that fails or hangs delays and loses nothing. |
//! | Lifetime | A supervisor starts no task but the file jobs of its copy, one read and one write at a time. Dropping it ends its watch, its read and its timers; a source ends its sockets and tasks with the stream. |
//! | Memory | At most one state is pending; nothing queues, and no source is held up by a slow reader. |

mod config;
mod discovery;
#[cfg(feature = "disk")]
mod disk;
mod document;
mod error;
mod event;
mod mapping;
mod probe;
#[cfg(feature = "register")]
mod register;
mod service;
mod sources;
mod stream;
mod supervisor;
mod update;

#[cfg(feature = "disk")]
pub use self::disk::DiskSnapshots;
#[cfg(feature = "file")]
pub use self::document::FileDocument;
#[cfg(feature = "file")]
pub use self::sources::{
    FileDiscovery, FileService, InstancesFile, InstancesFileError, parse_instances_file,
};
pub use ringfence_core::ConfigError;

pub use self::{
    config::WatchConfig,
    discovery::Discovery,
    document::{Document, DocumentSource, DocumentWatch, MAX_DOCUMENT_BYTES, StaticDocument},
    error::{DiscoveryError, ErrorKind},
    event::{
        Accepted, ErrorCounts, Event, HoldReason, HoldStatus, LossProbes, WatchCounters,
        WatchStatus,
    },
    mapping::{Field, FieldMapping, FieldSource, ID_KEY, Mapped, RegistryRecord, TagPolicy},
    probe::{Probe, ProbeError, TcpProbe},
    service::ServiceKey,
    sources::{MemoryRegistry, RegistryError, StaticDiscovery},
    stream::{BoxFuture, BoxStream, unfold},
    supervisor::Supervisor,
    update::{Provenance, RejectedRecord, Revision, ServiceState, Update},
};
#[cfg(feature = "register")]
pub use self::{
    mapping::UnmappedField,
    register::{
        Liveness, RegisterConfig, Registrar, Registration, RegistrationState, RegistryEntry,
    },
};

//! ringfence-discovery
mod config;
mod discovery;
mod error;
mod event;
mod service;
mod sources;
mod stream;
mod supervisor;
mod update;

pub use self::{
    config::{WatchConfig, WatchConfigError},
    discovery::Discovery,
    error::{DiscoveryError, ErrorKind},
    event::{Accepted, Event, HoldReason, HoldStatus, WatchCounters, WatchStatus},
    service::ServiceKey,
    sources::{MemoryRegistry, RegistryError, StaticDiscovery},
    stream::{BoxFuture, BoxStream, unfold},
    supervisor::Supervisor,
    update::{Provenance, RejectedRecord, Revision, ServiceState, Update},
};

//! Fakes and test helpers of Ringfence. Unpublished, and a dev-dependency only.
//!
//! | to test against | use |
//! |---|---|
//! | a registry that says exactly this, now | [`ScriptedDiscovery`] |
//! | a document that changes exactly so, now | [`ScriptedDocument`] |
//! | that the document of a real server is followed | [`DocumentFollower`] |
//! | an HTTP or gRPC server that misbehaves | [`Backend`] with [`Behaviour`] and [`OnConnect`] |
//! | TLS, SNI | [`TestCa`] and [`Backend::start_tls`] |
//! | a port that refuses, a port that hangs | [`RefusedAddress`], [`SilentAddress`] |
//! | a connection that goes dead without a word | [`Relay`] |
//! | a tower service that checks readiness | [`ProbeService`] |
//! | a real Consul, etcd or Nacos | [`registry`] |
//! | that a discovery source keeps the contract | [`contract`] |
//! | a probe that says what a test wants | [`ScriptedProbe`] |
//! | code that must not allocate | [`allocations`] |
//! | what is logged as a warning | [`Warnings`] |
//! | the spans of a target | [`Spans`] |
//!
//! Everything listens on loopback, on ports that the system chooses. Helpers that wait have no deadline of their own, which
//! paused tokio time would trip at once; what never comes is ended by the test runner.

mod address;
mod alloc;
mod backend;
pub mod contract;
mod discovery;
mod document;
mod follower;
mod probe;
pub mod registry;
mod relay;
mod scripted_probe;
mod spans;
mod tls;
mod warnings;

pub use address::{RefusedAddress, SilentAddress};
pub use alloc::{AllocationInfo, allocations};
pub use backend::{Answer, Backend, Behaviour, OnConnect, Recorded};
pub use discovery::ScriptedDiscovery;
pub use document::ScriptedDocument;
pub use follower::DocumentFollower;
pub use probe::{ProbeAnswer, ProbeCall, ProbeService};
pub use relay::Relay;
pub use scripted_probe::{ProbeVerdict, ScriptedProbe};
pub use spans::{ClosedSpan, Spans};
pub use tls::{ServerIdentity, TestCa};
pub use warnings::Warnings;

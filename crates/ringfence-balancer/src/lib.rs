//! The runtime of Ringfence, usable without tower.
//!
//! A [`Balancer`] watches one service in a task of its own and publishes immutable views of it.
//! [`Balancer::pick`] reads the current view and gives the distinct [`Candidate`]s of a request, the
//! owner of its key first. An attempt begins with [`Candidate::begin`] and ends when the [`InFlight`]
//! guard is dropped; its [`Outcome`] tells outlier detection about the instance.
//!
//! What it does not do: it opens no connection and sends no request. The `ringfence-tower` crate does,
//! on top of this one; sharded caches and workers use this crate directly.
//!
//! ```
//! use ringfence_balancer::{Balancer, FailureKind, Outcome, PickRequest};
//! use ringfence_core::Instance;
//! use ringfence_discovery::{ServiceKey, StaticDiscovery};
//!
//! # fn send(_: &Instance) -> Result<(), std::io::Error> { Ok(()) }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let order = ServiceKey::new("order");
//! let instances = [
//!     Instance::builder("order-1", "10.0.0.1:8080").build()?,
//!     Instance::builder("order-2", "10.0.0.2:8080").weight(200).build()?,
//! ];
//! let discovery = StaticDiscovery::new().with_service(order.clone(), instances);
//! let balancer = Balancer::builder(discovery, order).build()?;
//! balancer.ready().await?;
//!
//! let decision = balancer.pick(&PickRequest::new().with_key("tenant-42"))?;
//! for (attempt, candidate) in decision.candidates().enumerate() {
//!     if attempt > 0 && !balancer.try_hop() {
//!         break; // the retry budget is spent
//!     }
//!     let mut in_flight = candidate.begin();
//!     match send(candidate.instance()) {
//!         Ok(()) => {
//!             in_flight.report(Outcome::Success);
//!             break;
//!         }
//!         Err(_) => in_flight.report(Outcome::Failure(FailureKind::Connect)),
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Guarantees
//!
//! | what | how |
//! |---|---|
//! | one consistent state for each decision | policy, snapshot, rings and nodes are swapped as one; epochs only rise |
//! | no lock, no allocation, no await in a pick | measured in the tests; except the first requests with new tags, whose pools are not prepared yet |
//! | updates need no traffic | the task applies them; removals, drains and health changes at once, additions within `update_merge_window` (at most `max_merge_delay`) |
//! | a bad policy document changes nothing | the policy before it stays, [`Status::policy_source`] tells where the fault is |
//! | the registry's death empties nothing | the last good view stays, [`Status::stale_for`] tells its age |
//! | health and ejection move nobody else's keys | they are judged while walking the ring, which stays the same |
//! | an instance that comes back is not flooded | it has [few slots](OutlierConfig::with_trial_requests) until it has proven itself; those that find them taken walk past it, but for the last candidate of a call |
//! | counts return to where they were taken | the guard holds the node, not its name |
//! | nothing outlives the last handle | task, watch and sockets end; departed nodes end with their last attempt |
//! | limits are not passed by those who ask | a place is reserved before it is used ([`Candidate::try_begin`], [`Balancer::admit`]) and given back by a guard; [`Candidate::begin`] does not ask |
//! | damping leaves enough | [`BalancerConfig::with_flap_damping`] keeps nobody out where fewer than `panic_threshold` per cent, or none, would be left |
//! | bounded memory | prepared routes ([`BalancerConfig::max_pools`]), wishes for them, outlier records, reports, checks under way, flaps of departed instances, views of before ([`BalancerConfig::with_movement_window`]): each has a limit |
//!
//! Two clients with the same settings that have seen the same snapshot choose the same candidates; what
//! a client has learnt itself (ejections) and snapshots on their way may differ for a moment.
//!
//! The task needs a tokio runtime of either flavour with its time driver enabled.

mod admission;
mod audit;
mod balancer;
mod builder;
mod candidate;
mod concurrency;
mod config;
mod counter;
mod current;
mod decision;
mod error;
mod findings;
mod handle;
mod keyless;
mod lints;
mod merge;
mod node;
mod observing;
mod owner;
mod pick;
mod published;
mod reload;
mod request;
mod routes;
mod seating;
mod shared;
mod start;
mod status;
mod striped;
mod task;
mod telemetry;
mod trials;
mod warm_up;
mod weak;

pub use ringfence_core::{
    ConfigError, ConfigFinding, FailurePercentageConfig, FlapDampingConfig, HealthCheckConfig,
    HotKeysConfig, OutlierConfig, RetryBudgetConfig, RingConfig, SlowStartConfig,
    SuccessRateConfig, TagRouting,
};
pub use ringfence_discovery::{BoxFuture, Probe, ProbeError, ServiceKey, TcpProbe, WatchConfig};
pub use ringfence_policy::{AuditSink, CompiledPolicy, MissingKey, PolicyContext};

pub use self::{
    admission::Permit,
    balancer::{Balancer, Movement},
    builder::BalancerBuilder,
    candidate::Candidate,
    concurrency::ConcurrencyLimits,
    config::BalancerConfig,
    counter::StripedCounters,
    current::Current,
    decision::{Choice, Decision, IntoCandidates, MAX_CANDIDATES},
    error::{BuildError, Overload, PickError, StartError},
    node::{AttachmentKey, FailureKind, InFlight, Node, Outcome, Presence},
    observing::Suggestion,
    owner::{Behind, Owner},
    reload::{PolicyFault, PolicySourceStatus},
    request::PickRequest,
    start::StartPolicy,
    status::{BalancerCounters, Status},
    telemetry::{
        BalancerEvent, CallEnd, CallObserver, CallOutcome, CallRecord, Change, DecisionSample,
        HotKeyStatus, HotKeys, InstanceState, InstanceStatus, Observer, PoolLabel, RingShares,
    },
    warm_up::WarmUp,
    weak::WeakBalancer,
};

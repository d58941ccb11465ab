//! Client-side service discovery and load balancing: one tower `Layer` around a tonic or hyper client.
//!
//! Ringfence watches where the instances of a service are, narrows them to a pool by version, zone and tenant tags, sends
//! each request to the instance that owns its key on a consistent-hash ring, and fails over clockwise, a bounded number of
//! times.
//!
//! ```
//! use ringfence::{Balancer, Instance, PickRequest, ServiceKey, StaticDiscovery};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let orders = ServiceKey::new("orders");
//! let source = StaticDiscovery::new().with_service(
//!     orders.clone(),
//!     [
//!         Instance::builder("orders-1", "10.0.0.1:80").build()?,
//!         Instance::builder("orders-2", "10.0.0.2:80").build()?,
//!     ],
//! );
//! let balancer = Balancer::builder(source, orders).build()?;
//! balancer.ready().await?;
//! let decision = balancer.pick(&PickRequest::new().with_key("user-7"))?;
//! println!("user-7 is served by {}", decision.instance().address());
//! # Ok(())
//! # }
//! ```
//!
//! With a client: [`RingfenceLayer`] around `TonicConnector`, or around any `Service<http::Request<B>>`.
//!
//! # Features
//! | feature | default | gives |
//! |---|---|---|
//! | `tonic` | yes | `TonicConnector` for generated tonic clients, `GrpcHealthProbe` |
//! | `hyper` | yes | what is known of hyper-util's client: which of its failures may hop, its incoming bodies as requests; `HttpProbe` |
//! | `file` | yes | `FileDiscovery`, a watched YAML or JSON file, and `FileDocument`, a policy in one |
//! | `disk` | yes | `DiskSnapshots`, copies of lists on disk for starts while the registry is away |
//! | `admin` | no | the module `admin`: what balancers do, as a page and as JSON, in a service to mount anywhere |
//! | `tls` | no | TLS in the tonic connector |
//! | `consul` | no | the module `consul`; needs OpenSSL's headers to build |
//! | `nacos` | no | the module `nacos` |
//! | `etcd` | no | the module `etcd`; needs protoc to build |
//! | `etcd-native-roots` | no | `etcd` with `EtcdTls::with_native_roots`: the system's certificate authorities |
//! | `metrics` | no | the module `metrics`: `Metrics`, in the text format of Prometheus |
//! | `register` | no | registering instances, apart from consuming them: `Registrar`, `Registration` |
//!
//! # Where things are
//! What programs use daily is at the root. Each crate is there whole as a module: [`core`] (pools, rings, views),
//! [`discovery`] (sources of your own, supervision), [`policy`] (every type of the document, dry runs, explanations, imports),
//! [`balancer`] (counters, outcomes, observers) and [`tower`] (transports, bodies, classification); with their features `metrics` and
//! `admin`. The `KeySource` at the root is that of
//! the layer; the one of a policy's document is [`policy::KeySource`].
//!
//! # Guides
//! In the order in which one needs them: [a first call](guide::getting_started), [registries](guide::registries),
//! [which key to route by](guide::choosing_a_key), [what happens when something fails](guide::resilience),
//! [releases step by step](guide::gray_release). Who comes from elsewhere:
//! [from tonic's `balance_list`](guide::migration_tonic), [from an Envoy sidecar](guide::migration_envoy). Then
//! [what to look at](guide::operations).
#![cfg_attr(feature = "admin", doc = "On a page: [the admin page](guide::admin).")]
//! At a prompt: [the command](guide::command).
//! The reference: the [policy](guide::policy) field by field,
//! [algorithms](guide::algorithms), [moved keys](guide::movement), [retries](guide::retries),
//! [outlier detection](guide::outliers), [health checks and the start](guide::health), [load and connections](guide::load),
//! [contradicting settings](guide::config).

pub mod guide;

#[cfg(feature = "admin")]
pub use ringfence_admin as admin;
pub use ringfence_balancer as balancer;
#[cfg(feature = "consul")]
pub use ringfence_consul as consul;
pub use ringfence_core as core;
pub use ringfence_discovery as discovery;
#[cfg(feature = "etcd")]
pub use ringfence_etcd as etcd;
#[cfg(feature = "metrics")]
pub use ringfence_metrics as metrics;
#[cfg(feature = "nacos")]
pub use ringfence_nacos as nacos;
pub use ringfence_policy as policy;
pub use ringfence_tower as tower;
pub use {tower_layer, tower_service};

pub use self::{
    balancer::{
        Balancer, BalancerBuilder, BalancerConfig, BalancerEvent, Behind, BoxFuture, BuildError,
        CallEnd, CallObserver, CallOutcome, Candidate, Choice, ConcurrencyLimits, ConfigError,
        ConfigFinding, Current, Decision, FailureKind, FailurePercentageConfig, FlapDampingConfig,
        HealthCheckConfig, HotKeysConfig, InFlight, MissingKey, Observer, Outcome, OutlierConfig,
        Overload, Owner, Permit, PickError, PickRequest, Probe, ProbeError, RetryBudgetConfig,
        SlowStartConfig, StartError, StartPolicy, SuccessRateConfig, TcpProbe, WarmUp,
    },
    core::{
        Address, Attribute, Fallback, HashAlgorithm, HashBalanceFactor, Health, Instance,
        InstanceBuilder, InstanceError, InstanceId, Match, RequestTags, RingConfig, Scheme,
        Severity, Snapshot, TagRouting, TagRule, View, Weight,
    },
    discovery::{Discovery, MemoryRegistry, ServiceKey, StaticDiscovery, WatchConfig},
    policy::{
        AuditDecision, AuditEvent, AuditReason, AuditSink, CompiledPolicy, Explanation,
        GrayRelease, GrayTag, KeySecret, Mode, PeerAddress, Percent, PolicyContext, PolicyDocument,
        PolicyError, RequestHead, Rule, TagAuthority, TrustedTags, VerifiedClaims,
    },
    tower::{
        Authority, Body, Error, ErrorKind, Idempotent, KeySource, RetryPolicy, Ringfence,
        RingfenceLayer, RoutingKey, Transport,
    },
};
#[cfg(feature = "admin")]
pub use admin::{Admin, AdminServer, AdminService};
#[cfg(feature = "disk")]
pub use discovery::DiskSnapshots;
#[cfg(feature = "file")]
pub use discovery::{FileDiscovery, FileDocument};
#[cfg(feature = "register")]
pub use discovery::{Registrar, Registration};
#[cfg(feature = "metrics")]
pub use metrics::Metrics;
#[cfg(feature = "hyper")]
pub use tower::HttpProbe;
#[cfg(feature = "tonic")]
pub use tower::{GrpcHealthProbe, TonicConnector};

//! The pure core of Ringfence: instances, pools, consistent-hash rings and views.
//!
//! Nothing here does I/O, reads a clock, spawns a task or draws a random number, so the same inputs give the same routing in
//! every process. What watches registries is `ringfence-discovery`, what runs is `ringfence-balancer`; most programs use neither directly
//! but the facade `ringfence`.
//!
//! Threads that help to make a ring of a million points end with the call.
//!
//! The order of things is fixed by the types: a [`Snapshot`] is narrowed to a [`Pool`], a [`Ring`] is made of a pool, and a
//! walk over the ring gives the distinct instances for a key.
//!
//! ```
//! use std::sync::Arc;
//! use ringfence_core::{Attribute, Instance, Match, Pool, Ring, RingConfig, Selector, Snapshot};
//!
//! let snapshot = Arc::new(Snapshot::new([
//!     Instance::builder("a", "10.0.0.1:80").zone("az-1").build()?,
//!     Instance::builder("b", "10.0.0.2:80").zone("az-1").weight(200).build()?,
//!     Instance::builder("c", "10.0.0.3:80").zone("az-2").build()?,
//! ]));
//! let pool = Pool::select(&snapshot, &Selector::any().and(Attribute::Zone, Match::is("az-1")));
//! let config = RingConfig::default();
//! let ring = Ring::build(&pool, &config);
//! let owner = ring.owner(config.hash_key(b"user-1")).and_then(|member| pool.instance(member));
//! assert_eq!(owner.map(|instance| instance.id().as_str()), Some("a"));
//! # Ok::<(), ringfence_core::InstanceError>(())
//! ```
//!
//! # Guarantees
//! | what | how |
//! |---|---|
//! | same set, weights and settings give the same mapping | points depend on one instance's id alone; ties go by id; [`Ring::fingerprint`] proves it |
//! | least movement | an instance added, removed or re-weighted moves keys to or from itself only |
//! | health moves nobody else | it is judged while walking; skipping equals a ring made without the skipped |
//! | no panic on foreign data | every field of an [`Instance`] is checked once, when it is built |
//! | no allocation for a pick | a walk remembers its first eight instances in place |

mod clip;
mod config_error;
mod damping;
mod did_you_mean;
mod evenness;
mod finding;
mod health;
mod hot_keys;
mod instance;
mod key_share;
mod load;
mod movement;
mod outlier;
mod pool;
mod retry_budget;
mod ring;
mod routing;
mod slow_start;
mod snapshot;
mod view;

pub use self::{
    clip::clip,
    config_error::ConfigError,
    damping::{FlapDamper, FlapDampingConfig, FlapMember},
    did_you_mean::did_you_mean,
    evenness::{Evenness, weight_shares},
    finding::{ConfigFinding, FindingRule, Severity},
    health::{CheckRecord, HealthCheckConfig},
    hot_keys::{HotKey, HotKeySketch, HotKeysConfig},
    instance::{
        Address, Health, Instance, InstanceBuilder, InstanceError, InstanceId, Scheme, TENANT_TAG,
        Tags, Weight,
    },
    key_share::KeyShare,
    load::{HashBalanceFactor, LoadLimits, Taker},
    movement::{
        Basis, BatchError, Checkpoint, CheckpointError, KeyMove, Migration, MigrationBatch,
        MigrationConfig, MigrationProgress, MovedRange, MovementWindow, RingDiff, WithoutRanges,
    },
    outlier::{
        EjectionCause, EjectionState, EjectionTerm, FailurePercentageConfig, MemberTally,
        OutlierConfig, OutlierDecision, OutlierDetector, OutlierEvent, Refusal, ReturnCause,
        SuccessRateConfig, Suspicion,
    },
    pool::{Attribute, Match, Pool, PoolSpec, Selector, Shard, name_seed},
    retry_budget::{RetryBudget, RetryBudgetConfig},
    ring::{
        EnvoyRing, Fingerprint, HashAlgorithm, HashedKey, HostOrder, Jump, Ketama, KetamaVariant,
        KeyHash, Maglev, Nginx, PointHash, Ring, RingConfig, SlotMove, SlotTable, Slots, Walk,
    },
    routing::{
        Fallback, PlanId, RequestTags, RouteKey, RoutePlan, RoutePlans, ShardSeed, Spill, Stage,
        StageTemplate, TagRouting, TagRule, TagValues,
    },
    slow_start::{Newcomers, SlowStart, SlowStartConfig},
    snapshot::{InstanceChange, Snapshot, SnapshotDiff},
    view::{
        Absence, Chosen, PoolView, Route, StageOutcome, StepVerdict, View, ViewConfig, WalkStep,
    },
};

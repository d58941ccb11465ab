//! The runtime of Ringfence: one task per service watches it, publishes views and judges
//! instances; requests pick from the current view without waiting.

mod balancer;
mod budget;
mod config;
mod counter;
mod decision;
mod error;
mod keyless;
mod merge;
mod node;
mod outlier;
mod pick;
mod publish;
mod request;
mod routes;
mod shared;
mod state;
mod status;
mod task;

pub use balancer::{Balancer, BalancerBuilder};
pub use budget::RetryBudget;
pub use config::{BalancerConfig, MissingKey};
pub use decision::{Candidate, Decision, MAX_CANDIDATES};
pub use error::{BuildError, ConfigError, PickError};
pub use node::{AttachmentKey, FailureKind, InFlight, Node, Outcome};
pub use outlier::OutlierConfig;
pub use request::PickRequest;
pub use status::{BalancerCounters, Status};

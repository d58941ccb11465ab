//! Metrics of Ringfence, in the text format of Prometheus.
//!
//! [`Metrics`] is an [`Observer`](ringfence_balancer::Observer) of any number of balancers. It counts calls as they end, and reads the
//! rest when it is asked. Hand it to each balancer, and give [`Metrics::render`] to whoever scrapes, or
//! [register](Metrics::register) it with the registry that the program has already.
//!
//! ```
//! use ringfence_balancer::{Balancer, PickRequest};
//! use ringfence_core::Instance;
//! use ringfence_discovery::StaticDiscovery;
//! use ringfence_metrics::Metrics;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let metrics = Metrics::new();
//! let source = StaticDiscovery::new()
//!     .with_service("order", [Instance::builder("a", "10.0.0.1:80").build()?]);
//! let balancer = Balancer::builder(source, "order")
//!     .with_observer(metrics.clone())
//!     .build_ready()
//!     .await?;
//! balancer.pick(&PickRequest::new())?;
//! let text = metrics.render();
//! assert!(text.contains(r#"ringfence_picks_total{service="order"} 1"#), "{text}");
//! assert!(text.contains(r#"ringfence_ring_instances{service="order",state="usable"} 1"#));
//! # Ok(())
//! # }
//! ```
//!
//! # Guarantees
//! | what | how |
//! |---|---|
//! | labels are few | services, rules with the number of their stage (at most 256 at a time for a balancer, beside `default/0`, `none` and `others`), and words of ours; never a key, a path, a tag or an address |
//! | series go with what they are about | those of a service with its last balancer, those of an instance with the instance, those of a rule with the last call of it once no policy names it, or with the last balancer that has it |
//! | metrics keep nothing alive | balancers are held weakly |
//! | the price of a call | two looks at the clock, and three counters that are the thread's own ([`StripedCounters`](ringfence_balancer::StripedCounters)) |
//!
//! Names and units follow the conventions of Prometheus; [`families`] lists all of them.

mod calls;
mod collector;
mod error;
mod families;
mod metrics;
mod observer;
mod reading;
mod samples;

pub use prometheus;

pub use self::{
    error::MetricsError,
    families::{Family, Kind, families},
    metrics::Metrics,
};

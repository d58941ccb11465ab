//! Runnable examples of Ringfence; each is a folder of this package. What several of them share is here.
//!
//! ```console
//! $ cargo run --example echo_server -- --id order-1 --port 50051
//! ```

mod client;
mod cluster;
mod flags;
mod fleet;
mod registry;
mod report;
mod tour;

pub use self::{
    client::{Answers, Client, request_of},
    cluster::{Cluster, until},
    flags::{Take, flags, set, set_some, wrong_usage},
    fleet::{Fleet, Server},
    registry::{Registry, Role},
    report::{Report, percent},
    tour::{Caller, SERVERS, judge, tour, writes_are_refused},
};

/// Any error.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

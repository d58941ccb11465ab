//! Behaviour of a running balancer.
#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests, where a failure is to end the test"
)]

mod audit;
mod bounded;
mod completing;
mod consistency;
mod damping;
mod disk;
mod explaining;
mod health;
mod keyless;
mod lifecycle;
mod limits;
mod load;
mod logged;
mod merging;
mod movement;
mod outlier;
mod policy;
mod policy_told;
mod probing;
mod rates;
mod reload;
mod slow_start;
mod start;
mod support;
mod telemetry;
mod together;
mod told;
mod trials;
mod updates;
mod warm_up;
mod weights;

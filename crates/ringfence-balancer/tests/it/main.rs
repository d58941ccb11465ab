//! Behaviour of a running balancer.
#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests, where a failure is to end the test"
)]

mod audit;
mod consistency;
mod damping;
mod disk;
mod health;
mod keyless;
mod lifecycle;
mod load;
mod merging;
mod outlier;
mod policy;
mod policy_told;
mod reload;
mod start;
mod support;
mod told;
mod updates;
mod weights;

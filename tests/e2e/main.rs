//! End-to-end tests: each module is one behaviour.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "all of it is tests"
)]

mod compose;
mod dashboards;
mod fleet;
mod forged_tags;
mod guides;
mod lifetime;
mod membership;
mod readme;
mod registry_outage;
mod support;

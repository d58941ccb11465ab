//! End-to-end tests: each module is one behaviour, `fleet` and `client` are what they share.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "all of it is tests"
)]

mod client;
mod compose;
mod fleet;
mod lifetime;
mod membership;
mod registry_outage;

//! The algorithms of other programs, against their values, and what all algorithms promise.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "helpers of integration tests are not seen as tests"
)]

mod allocations;
mod envoy_ring;
mod fingerprints;
mod fleet;
mod jump;
mod ketama;
mod maglev;
mod nginx;
mod parity;
mod promises;
mod rendezvous;
mod salts;
mod shares;
mod slots;

//! End-to-end tests of Ringfence: real tonic and hyper clients against real servers on loopback.
//!
//! The tests are the modules of `e2e/main.rs` and, against real registries, of `real/main.rs`; here is what they share. The
//! programs of the README are doc tests of this crate.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests are tests"
)]

pub mod client;
pub mod fleet;
pub mod registry;

#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;

//! The Consul source against a server that is told what to say.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests are tests"
)]

mod bad_answers;
mod fake;
mod index;
mod kv;
mod records;
#[cfg(feature = "register")]
mod register;
mod requests;
mod sharing;
mod timing;
mod tls;

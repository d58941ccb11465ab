//! End-to-end tests: each module is one behaviour, and `fleet` is what they share.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "all of it is tests"
)]

mod fleet;

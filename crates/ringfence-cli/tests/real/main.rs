//! The built command against real registries, which the testkit starts on loopback. A missing server fails the test.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "all of it is tests"
)]

mod real_server;

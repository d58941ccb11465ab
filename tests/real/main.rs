//! A whole client on real registries, which the testkit starts on loopback.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "all of it is tests, which tell their figures to whoever asks for them"
)]

mod real_server;

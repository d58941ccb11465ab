//! Against a real server that speaks Nacos's protocol. Each test starts its own; a missing one fails the test.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a test may fail, and prints how long things took"
)]

mod real_server;

//! The service over HTTP and without it: what it answers, to whom, and for how long it lives.
#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of integration tests are not seen as tests"
)]

mod documents;
mod explain;
mod golden;
mod health;
mod mounting;
mod router;
mod serving;
mod support;

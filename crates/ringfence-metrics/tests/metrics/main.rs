//! What is exposed, as whoever scrapes sees it.
#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests, where a failure is to end the test"
)]

mod bounded;
mod counting;
mod exposition;
mod promtool;
mod support;
mod values;

//! The command as its users see it.
#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests, where a failure is to end the test"
)]

mod credentials;
mod diffing;
mod empty;
mod examples;
mod explaining;
mod forms;
mod guides;
mod inspecting;
mod linting;
mod papers;
mod parity;
mod planning;
mod reporting;
mod routing;
mod settings;
mod simulating;
mod support;
mod usage;
#[path = "../common/watch.rs"]
mod watch;
mod watching;

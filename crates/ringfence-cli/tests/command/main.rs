//! The command as its users see it.
#![allow(
    clippy::expect_used,
    reason = "helpers of tests, where a failure is to end the test"
)]

mod diffing;
mod explaining;
mod inspecting;
mod linting;
mod papers;
mod parity;
mod planning;
mod reporting;
mod routing;
mod simulating;
mod support;
mod usage;
mod watching;

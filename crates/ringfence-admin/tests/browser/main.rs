//! The page in a real headless Chromium, over real HTTP, on a real balancer.
//!
//! `chromedriver` and `chromium` must be installed; `tests/run` brings them.

#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of integration tests are not seen as tests"
)]

mod access;
mod chromium;
mod content;
mod live;
mod site;

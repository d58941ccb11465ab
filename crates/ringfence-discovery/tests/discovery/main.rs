//! The supervisor against scripted sources, and the embedded sources under the supervisor.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests are tests"
)]

mod convergence;
#[cfg(feature = "disk")]
mod disk;
mod documents;
#[cfg(feature = "file")]
mod file;
#[cfg(feature = "file")]
mod file_document;
mod holds;
mod loss_probes;
mod memory;
mod order;
mod panics;
mod rejects;
mod script;
mod told;
mod watching;

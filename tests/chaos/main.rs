//! Clients under load while everything around them fails.
//!
//! `RINGFENCE_CHAOS_SECONDS` makes the faults go on for longer than 50 s, `RINGFENCE_CHAOS_SEED` repeats those of a run, which
//! prints its own.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "all of it is tests, and what they measure is to be read"
)]

mod client;
mod director;
mod faults;
mod fleet;
mod load;
mod rolling;
mod storm;

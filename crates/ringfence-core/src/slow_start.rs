//! New members get their weight in steps.

mod config;
mod newcomers;
mod ramps;

pub use self::{config::SlowStartConfig, newcomers::Newcomers, ramps::SlowStart};

//! Active health checks without clock, probe or randomness: when they are due, and what their results come to.

mod config;
mod record;

pub use self::{config::HealthCheckConfig, record::CheckRecord};

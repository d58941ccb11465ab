//! Guides: how the parts work together. There is nothing here to call.

pub mod config;
pub mod outliers;
pub mod policy;

//! Guides: how the parts work together. There is nothing here to call.

#[cfg(feature = "admin")]
pub mod admin;
pub mod algorithms;
pub mod command;
pub mod config;
pub mod health;
pub mod load;
pub mod movement;
pub mod outliers;
pub mod policy;
pub mod retries;

//! Guides: how the parts work together. There is nothing here to call.

pub mod health;
pub mod policy;

//! Flap damping: instances that come and go are used later than they come back.

mod config;
mod damper;
mod record;
#[cfg(test)]
mod tests;

pub use self::{
    config::FlapDampingConfig,
    damper::{FlapDamper, FlapMember},
};

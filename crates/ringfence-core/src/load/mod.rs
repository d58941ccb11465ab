//! What the loads of a moment say about who takes a request.

mod bounded;
mod limits;

pub use self::{
    bounded::HashBalanceFactor,
    limits::{LoadLimits, Taker},
};

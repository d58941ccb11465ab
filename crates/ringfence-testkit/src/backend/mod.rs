//! Scripted HTTP servers.

mod answer;
mod behaviour;
mod body;
mod connection;
mod end;
mod goaway;
mod record;
mod server;
mod socket;
mod state;

pub use answer::Answer;
pub use behaviour::{Behaviour, OnConnect};
pub use record::Recorded;
pub use server::Backend;

#[cfg(test)]
mod tests;

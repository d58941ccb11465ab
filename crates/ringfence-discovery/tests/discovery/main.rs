//! The supervisor against scripted sources, and the embedded sources under the supervisor.

#[cfg(feature = "file")]
mod file;
mod holds;
mod memory;
mod order;
mod script;
mod watching;

//! One module for each command.

pub(crate) mod diff;
pub(crate) mod dump;
pub(crate) mod plan;
pub(crate) mod route;
pub(crate) mod simulate;

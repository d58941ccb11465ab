//! One module for each command.

pub(crate) mod diff;
pub(crate) mod dump;
pub(crate) mod explain;
pub(crate) mod inspect;
pub(crate) mod lint;
pub(crate) mod paper;
pub(crate) mod plan;
pub(crate) mod report;
pub(crate) mod route;
pub(crate) mod simulate;
pub(crate) mod watch;

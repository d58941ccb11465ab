//! Request bodies that can be sent again, and response bodies that know when they ended.

mod ahead;
mod boxed;
mod capture;
mod frames;
mod impls;
mod replay;
mod response;
mod tracker;

pub use self::boxed::Body;
pub use self::replay::{Replay, RequestBody};
pub(crate) use self::response::Limit;
pub use self::response::ResponseBody;
pub(crate) use self::tracker::Tracker;

#[cfg(test)]
mod tests;

//! What the loads of a moment say about who takes a request.

mod bounded;

pub use self::bounded::HashBalanceFactor;

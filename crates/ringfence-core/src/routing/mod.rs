//! From what a request asks for to the pools that it may use.

mod rules;
mod tags;
#[cfg(test)]
mod tests;

pub use self::{
    rules::{Fallback, Stage, TagRouting, TagRule},
    tags::RequestTags,
};

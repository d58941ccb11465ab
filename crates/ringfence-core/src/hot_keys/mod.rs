//! Which keys have the largest part of the requests, in bounded memory.

mod config;
mod sketch;

pub use self::{
    config::HotKeysConfig,
    sketch::{HotKey, HotKeySketch},
};

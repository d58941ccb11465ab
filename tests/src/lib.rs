//! End-to-end tests of Ringfence: real tonic and hyper clients against real servers on loopback.
//!
//! The tests are the modules of `e2e/main.rs`; the programs of the README are doc tests of this crate.

#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;

//! End-to-end tests of Ringfence: real tonic and hyper clients against real servers on loopback.
//!
//! The tests are the modules of `e2e/main.rs`.

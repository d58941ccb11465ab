//! Runnable examples of Ringfence; each is a folder of this package.
//!
//! ```console
//! $ cargo run --example echo_server -- --id order-1 --port 50051
//! ```

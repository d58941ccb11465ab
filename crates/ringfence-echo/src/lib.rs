//! The echo service of `proto/echo/v1`: generated code, and a server that can be killed.
//!
//! It is a crate of its own because the examples, which may not depend on the testkit, and the testkit, which may not
//! depend on the examples, need the same generated code and server.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> std::io::Result<()> {
//! use ringfence_echo::EchoServer;
//!
//! let server = EchoServer::bind("order-1").await?;
//! println!("order-1 listens on {}", server.address());
//! assert_eq!(server.requests(), 0);
//! server.kill().await;
//! # Ok(())
//! # }
//! ```

mod call;
mod counters;
mod fault;
mod server;
mod service;

pub use call::Call;
pub use fault::Fault;
pub use pb::{EchoRequest, EchoResponse, echo_client::EchoClient};
pub use server::EchoServer;

/// The code generated from `proto/echo/v1/echo.proto`.
pub mod pb {
    #![allow(
        missing_docs,
        unreachable_pub,
        unused_qualifications,
        clippy::allow_attributes_without_reason,
        clippy::must_use_candidate,
        clippy::return_self_not_must_use,
        clippy::pedantic,
        reason = "tonic's code generator decides how it looks"
    )]
    tonic::include_proto!("ringfence.echo.v1");
}

impl EchoRequest {
    /// A request that asks for `payload` back at once, as one response.
    pub fn new(payload: impl Into<String>) -> Self {
        Self {
            payload: payload.into(),
            ..Self::default()
        }
    }

    /// Waits `delay_ms` milliseconds before each response.
    #[must_use]
    pub fn with_delay_ms(mut self, delay_ms: u32) -> Self {
        self.delay_ms = Some(delay_ms);
        self
    }

    /// Asks a server stream for `count` responses.
    #[must_use]
    pub fn with_count(mut self, count: u32) -> Self {
        self.count = Some(count);
        self
    }
}

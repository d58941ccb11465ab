//! Panics of a source, made into errors: a fault in one source must not end whoever watches it.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::Env;
use crate::{DiscoveryError, ErrorKind};

impl Env<'_> {
    /// Runs code of the source. What panicked is not to be used again.
    pub(super) fn guarded<T>(&self, call: impl FnOnce() -> T) -> Result<T, DiscoveryError> {
        guarded(|| self.source.name(), call).inspect_err(|error| {
            tracing::error!(service = %self.service, %error, "a fault in the source; it is asked anew");
        })
    }
}

/// Runs code of the source called `name`.
pub(crate) fn guarded<'a, T>(
    name: impl FnOnce() -> &'a str,
    call: impl FnOnce() -> T,
) -> Result<T, DiscoveryError> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|panic| {
        let message = format!("the source panicked: {}", text(&*panic));
        DiscoveryError::new(ErrorKind::Protocol, name(), message)
    })
}

fn text(panic: &(dyn Any + Send)) -> &str {
    match panic.downcast_ref::<&str>() {
        Some(text) => text,
        None => panic
            .downcast_ref::<String>()
            .map_or("no text", String::as_str),
    }
}

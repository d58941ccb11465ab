//! One error for several who hear of it.

use std::{error::Error, fmt, sync::Arc};

use ringfence_discovery::DiscoveryError;

/// The same error once more, cause included.
pub(super) fn told_again(error: &Arc<DiscoveryError>) -> DiscoveryError {
    let again = DiscoveryError::new(error.kind(), error.origin(), error.message());
    match error.source() {
        Some(_) => again.with_cause(Cause(Arc::clone(error))),
        None => again,
    }
}

/// What an error came from, and nothing of the error itself.
struct Cause(Arc<DiscoveryError>);

impl Cause {
    fn get(&self) -> &(dyn Error + 'static) {
        self.0.source().unwrap_or(&*self.0)
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.get(), f)
    }
}

impl fmt::Debug for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.get(), f)
    }
}

impl Error for Cause {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.get().source()
    }
}

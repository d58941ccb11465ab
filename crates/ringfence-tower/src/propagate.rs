//! The caller's trace context, on its way to the instance.

use std::fmt;
use std::sync::Arc;

use http::HeaderMap;

type Inject = Arc<dyn Fn(&mut HeaderMap) + Send + Sync>;

/// Writes the context of the trace into the headers of an attempt.
#[derive(Clone, Default)]
pub(crate) struct Propagator(Option<Inject>);

impl Propagator {
    pub(crate) fn new(inject: impl Fn(&mut HeaderMap) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(inject)))
    }

    #[inline]
    pub(crate) fn inject(&self, headers: &mut HeaderMap) {
        if let Some(inject) = &self.0 {
            inject(headers);
        }
    }
}

impl fmt::Debug for Propagator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0.is_some(), f)
    }
}

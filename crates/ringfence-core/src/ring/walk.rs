use std::fmt;

use super::{native::NativeWalk, others::OtherWalk};

/// The distinct usable members from a key on, each once.
///
/// The first eight members cost no allocation.
#[must_use = "a walk does nothing until it is iterated"]
pub struct Walk<'a, P> {
    steps: Steps<'a, P>,
}

enum Steps<'a, P> {
    Native(NativeWalk<'a, P>),
    Other(OtherWalk<'a, P>),
}

impl<'a, P: FnMut(u32) -> bool> Walk<'a, P> {
    #[inline]
    pub(super) fn native(walk: NativeWalk<'a, P>) -> Self {
        Self {
            steps: Steps::Native(walk),
        }
    }

    pub(super) fn other(walk: OtherWalk<'a, P>) -> Self {
        Self {
            steps: Steps::Other(walk),
        }
    }
}

impl<P: FnMut(u32) -> bool> Iterator for Walk<'_, P> {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        match &mut self.steps {
            Steps::Native(walk) => walk.next(),
            Steps::Other(walk) => walk.next(),
        }
    }
}

impl<P> fmt::Debug for Walk<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Walk").finish_non_exhaustive()
    }
}

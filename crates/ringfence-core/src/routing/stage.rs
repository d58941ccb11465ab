use std::fmt;

use super::Spill;
use crate::pool::{PoolSpec, Selector};

/// One step on the way from a request to its pool.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stage {
    /// Use this pool, where enough of its instances are usable.
    #[non_exhaustive]
    Try {
        /// The pool.
        pool: PoolSpec,
        /// Instances that must be usable.
        min_usable: usize,
        /// Part of the pool's instances that must be usable, in per cent.
        min_share: u8,
        /// Which share of the keys goes to the next stage all the same.
        spill: Option<Spill>,
    },
    /// End the search where any registered instance matches, usable or not.
    StopIfRegistered(Selector),
}

impl Stage {
    /// The condition of the stage.
    pub fn selector(&self) -> &Selector {
        match self {
            Self::Try { pool, .. } => pool.selector(),
            Self::StopIfRegistered(selector) => selector,
        }
    }

    /// Whether a pool of so many members with so many usable ones serves.
    pub(crate) fn is_served_by(&self, usable: usize, members: usize) -> bool {
        match self {
            Self::Try {
                min_usable,
                min_share,
                ..
            } => usable >= *min_usable && usable * 100 >= members * usize::from(*min_share),
            Self::StopIfRegistered(_) => false,
        }
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Try { pool, .. } => pool.fmt(f),
            Self::StopIfRegistered(selector) => write!(f, "strict {selector}"),
        }
    }
}

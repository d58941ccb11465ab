//! Ejection of instances that keep failing.
//!
//! ```text
//!            failures in a row, share allows it
//!   member ──────────────────────────────────────▶ ejected   times += 1, base time × times
//!     ▲                                               │
//!     └─────────────── time is over ──────────────────┘
//!   member, base time with enough successes: times -= 1; at 0 the record is gone
//! ```

mod config;
mod detector;
mod record;
#[cfg(test)]
mod tests;

pub use self::{
    config::OutlierConfig,
    detector::{EjectionVerdict, OutlierDetector},
};

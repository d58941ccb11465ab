//! Ejection of instances that fail.
//!
//! ```text
//!            failures in a row, too low a success rate, ...; the limits allow it
//!   member ────────────────────────────────────────────▶ ejected   times += 1, base time × times
//!     ▲                                                   │  ▲
//!     │                     time is over, or a probe says │  │ a failure
//!     │                                    that it serves ▼  │
//!     └──────────── enough successes, or base time ────── on trial
//!   member, base time with enough successes: times -= 1; at 0 the record is gone
//! ```

mod config;
mod decision;
mod detector;
mod record;
mod tally;
#[cfg(test)]
mod tests;

pub use self::{
    config::{FailurePercentageConfig, OutlierConfig, SuccessRateConfig},
    decision::{EjectionCause, OutlierDecision, OutlierEvent, Refusal, ReturnCause, Suspicion},
    detector::OutlierDetector,
    record::{EjectionState, EjectionTerm},
    tally::MemberTally,
};

//! The places that a call needs: among those in flight to the service, and on an instance.

use std::pin::pin;

use ringfence_balancer::{Candidate, InFlight};
use tokio::time::Instant;

use super::trail::Trail;
use super::until;
use crate::error::Error;
use crate::settings::Settings;

/// Takes the call's place among those in flight.
pub(super) async fn admit(
    settings: &Settings,
    deadline: Option<Instant>,
    trail: &mut Trail,
) -> Result<(), Error> {
    match until(deadline, pin!(settings.balancer.admit())).await {
        Some(Ok(permit)) => {
            trail.admitted(permit);
            Ok(())
        }
        Some(Err(error)) => Err(trail.not_picked(settings, error)),
        None => Err(trail.late(settings)),
    }
}

/// Begins an attempt at the next candidate that has room for it. The first one was chosen with its trial in mind; for the last one,
/// which has nobody behind it, a trial is no reason to pass it by either, if the attempt is needed.
pub(super) fn begin_next<'c>(
    candidates: &mut impl ExactSizeIterator<Item = &'c Candidate>,
    is_first: bool,
    is_needed: bool,
) -> Option<(&'c Candidate, InFlight)> {
    let mut heeds_trial = !is_first;
    loop {
        let candidate = candidates.next()?;
        heeds_trial &= candidates.len() > 0 || !is_needed;
        let attempt = if heeds_trial {
            candidate.try_begin()
        } else {
            candidate.try_begin_on_trial()
        };
        if let Some(attempt) = attempt {
            return Some((candidate, attempt));
        }
        heeds_trial = true;
    }
}

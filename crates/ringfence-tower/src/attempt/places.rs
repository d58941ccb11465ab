//! The places that a call needs: among those in flight to the service, and on an instance.

use std::mem;
use std::pin::pin;

use ringfence_balancer::{Decision, InFlight};
use tokio::time::Instant;

use super::choose::Chosen;
use super::in_hand::InHand;
use super::trail::Trail;
use super::{Call, until};
use crate::body::RequestBody;
use crate::error::Error;
use crate::settings::Settings;
use crate::transport::Transport;

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

impl<S> Call<S> {
    /// Gets the request ready, and begins the first attempt.
    pub(super) fn begin_first<B>(
        &mut self,
        chosen: &mut Chosen,
        in_hand: &mut InHand<B>,
        trail: &mut Trail,
    ) -> Result<(), Error>
    where
        S: Transport<B>,
        B: RequestBody,
    {
        if let Chosen::Owner(owner) = chosen {
            let behind = owner.behind();
            self.prepare(behind.is_any(), in_hand, trail);
            if trail.is_watched() {
                trail.decided(owner.choice());
            }
            if let Chosen::Owner(owner) = mem::replace(chosen, Chosen::Behind(behind)) {
                trail.begin(owner.begin());
            }
            self.tried = 1;
            return Ok(());
        }
        if let Chosen::Decision(decision) = chosen {
            trail.decided(decision.choice());
            let all = decision.candidates_and_last_resorts().len();
            self.prepare(all > 1, in_hand, trail);
        }
        self.begin_further(chosen, in_hand, trail)
    }

    /// Begins the attempt at the next one that has room for it.
    pub(super) fn begin_further<B: RequestBody>(
        &mut self,
        chosen: &Chosen,
        in_hand: &mut InHand<B>,
        trail: &mut Trail,
    ) -> Result<(), Error> {
        let Chosen::Decision(decision) = chosen else {
            return Err(trail.gone(&self.settings));
        };
        let Some(attempt) = begin_next(decision, &mut self.tried, true) else {
            // Those that are left have as many requests as they may.
            return Err(trail.full(&self.settings));
        };
        if self.tried == decision.candidates_and_last_resorts().len() {
            in_hand.forget_replay();
        }
        trail.begin(attempt);
        Ok(())
    }
}

/// Begins an attempt at the next candidate that has room for it, where so many were `tried`, and counts those that it passes by. The
/// first one was chosen with its trial in mind; for the last one, which has nobody behind it, a trial is no reason to pass it by
/// either, if the attempt `is_needed`. One that is not needed is none of the last resorts.
pub(super) fn begin_next(
    decision: &Decision,
    tried: &mut usize,
    is_needed: bool,
) -> Option<InFlight> {
    let mut all = decision.candidates_and_last_resorts().len();
    if !is_needed {
        all -= decision.last_resorts();
    }
    while *tried < all {
        let candidate = decision.candidates_and_last_resorts().nth(*tried)?;
        let is_first = *tried == 0;
        *tried += 1;
        let is_last_needed = *tried == all && is_needed;
        // Who has left meanwhile is asked only where nobody else is left.
        if !is_first && !is_last_needed && candidate.presence().left_at().is_some() {
            continue;
        }
        let attempt = if is_first || is_last_needed {
            candidate.try_begin_on_trial()
        } else {
            candidate.try_begin()
        };
        if attempt.is_some() {
            return attempt;
        }
    }
    None
}

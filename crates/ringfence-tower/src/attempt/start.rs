//! From a call to its candidates. What waits, which is rare, lies on the heap, so that calls do not carry the room for it.

use std::pin::pin;

use http::request::Parts;
use ringfence_balancer::PickError;
use tokio::time::Instant;

use super::choose::{Way, decide};
use super::in_hand::InHand;
use super::places::admit;
use super::trail::Trail;
use super::until;
use crate::body::RequestBody;
use crate::error::Error;
use crate::settings::Settings;

/// Where a call goes, and whether it waited for the first view.
type Found<S> = (Way<S>, bool);

/// `untouched` takes what the policy does not decide.
pub(super) async fn find<S, B: RequestBody>(
    settings: &Settings,
    in_hand: &mut InHand<B>,
    mut untouched: Option<S>,
    deadline: Option<Instant>,
    trail: &mut Trail,
) -> Result<Found<S>, Error> {
    let Some(head) = in_hand.head() else {
        return Err(trail.full(settings));
    };
    if settings.balancer.config().concurrency().max_in_flight() > 0 {
        return Box::pin(admitted(settings, head, untouched, deadline, trail)).await;
    }
    way(settings, head, &mut untouched, deadline, trail).await
}

async fn way<S>(
    settings: &Settings,
    head: &mut Parts,
    untouched: &mut Option<S>,
    deadline: Option<Instant>,
    trail: &mut Trail,
) -> Result<Found<S>, Error> {
    let way = decide(settings, head, untouched, trail);
    if !matches!(way, Err(PickError::NotReady { .. })) {
        let way = way.map_err(|error| trail.not_picked(settings, error))?;
        return Ok((way, false));
    }
    let mut ready = Box::pin(settings.balancer.ready());
    let way = match until(deadline, ready.as_mut()).await {
        Some(Ok(())) => decide(settings, head, untouched, trail),
        Some(Err(error)) => Err(error),
        None => return Err(trail.late(settings)),
    };
    let way = way.map_err(|error| trail.not_picked(settings, error))?;
    Ok((way, true))
}

/// With a place among the calls in flight.
async fn admitted<S>(
    settings: &Settings,
    head: &mut Parts,
    mut untouched: Option<S>,
    deadline: Option<Instant>,
    trail: &mut Trail,
) -> Result<Found<S>, Error> {
    // What may go to the client as it is waits for nobody before it is known that it does not.
    if untouched.is_none() {
        admit(settings, deadline, trail).await?;
        return way(settings, head, &mut None, deadline, trail).await;
    }
    // A rule may strip headers that it reads.
    let as_it_came = head.headers.clone();
    let (chosen, waited) = pin!(way(settings, head, &mut untouched, deadline, trail)).await?;
    let Way::Chosen(decision) = chosen else {
        return Ok((chosen, waited));
    };
    // What was chosen before the wait may be gone after it, and holds a slot if it is on trial.
    drop(decision);
    admit(settings, deadline, trail).await?;
    head.headers = as_it_came;
    match decide(settings, head, &mut None::<S>, trail) {
        // Not without a client to be left untouched.
        Ok(Way::Untouched { .. }) => Err(trail.full(settings)),
        Ok(chosen) => Ok((chosen, waited)),
        Err(error) => Err(trail.not_picked(settings, error)),
    }
}

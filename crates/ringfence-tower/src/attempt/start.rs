//! From a call to its candidates, with waiting or without.

use std::pin::pin;

use http::request::Parts;
use http::{Request, Response};
use http_body::Body;
use ringfence_balancer::PickError;
use tokio::time::Instant;
use tower_service::Service;

use super::choose::{Chosen, Way, decide};
use super::in_hand::InHand;
use super::pass::pass;
use super::places::admit;
use super::trail::Trail;
use super::{Answer, until};
use crate::body::RequestBody;
use crate::error::{BoxError, Error};
use crate::settings::Settings;

/// Decides a call that need not wait and does not go untouched; false for any other. `untouched` takes what the policy does not
/// decide.
pub(super) fn at_once<S, B: RequestBody>(
    settings: &Settings,
    in_hand: &mut InHand<B>,
    untouched: &mut Option<S>,
    trail: &mut Trail,
    chosen: &mut Chosen,
) -> Result<bool, Error> {
    let is_limited = settings.balancer.config().concurrency().max_in_flight() > 0;
    let Some(head) = in_hand
        .head()
        .filter(|_| !is_limited && untouched.is_none())
    else {
        return Ok(false);
    };
    match decide(settings, head, untouched, trail, chosen) {
        Ok(way) => Ok(matches!(way, Way::Chosen)),
        Err(PickError::NotReady { .. }) => Ok(false),
        Err(error) => Err(trail.not_picked(settings, error)),
    }
}

/// What becomes of a call that is not decided at once.
pub(super) enum Otherwise<R: Body> {
    /// It goes to those that were chosen.
    Chosen {
        /// For the first view, or for a place among the calls in flight.
        has_waited: bool,
    },
    /// The client had the request as it was.
    Answered(Box<Answer<R>>),
}

/// Waits for what such a call waits for, or sends it on untouched. All of that is one future, because a call has the room of each
/// one that it may wait for.
pub(super) async fn otherwise<S, B, R>(
    settings: &Settings,
    in_hand: &mut InHand<B>,
    untouched: Option<S>,
    deadline: Option<Instant>,
    trail: &mut Trail,
    chosen: &mut Chosen,
) -> Result<Otherwise<R>, Error>
where
    B: RequestBody,
    S: Service<Request<B>, Response = Response<R>, Error: Into<BoxError>>,
    R: Body,
{
    let (way, has_waited) = find(settings, in_hand, untouched, deadline, trail, chosen).await?;
    let untouched = match way {
        Way::Chosen => return Ok(Otherwise::Chosen { has_waited }),
        Way::Untouched(untouched) => untouched,
    };
    let Some(request) = in_hand.take() else {
        return Err(trail.gone(settings));
    };
    trail.take_watched().leave();
    let answer = pass(untouched, settings, request).await?;
    Ok(Otherwise::Answered(Box::new(answer)))
}

/// Where any call goes, and whether it has waited for that.
async fn find<S, B: RequestBody>(
    settings: &Settings,
    in_hand: &mut InHand<B>,
    mut untouched: Option<S>,
    deadline: Option<Instant>,
    trail: &mut Trail,
    chosen: &mut Chosen,
) -> Result<(Way<S>, bool), Error> {
    let Some(head) = in_hand.head() else {
        return Err(trail.gone(settings));
    };
    if settings.balancer.config().concurrency().max_in_flight() > 0 {
        return admitted(settings, head, untouched, deadline, trail, chosen).await;
    }
    way(settings, head, &mut untouched, deadline, trail, chosen).await
}

async fn way<S>(
    settings: &Settings,
    head: &mut Parts,
    untouched: &mut Option<S>,
    deadline: Option<Instant>,
    trail: &mut Trail,
    chosen: &mut Chosen,
) -> Result<(Way<S>, bool), Error> {
    let way = decide(settings, head, untouched, trail, chosen);
    if !matches!(way, Err(PickError::NotReady { .. })) {
        let way = way.map_err(|error| trail.not_picked(settings, error))?;
        return Ok((way, false));
    }
    let way = match until(deadline, pin!(settings.balancer.ready())).await {
        Some(Ok(())) => decide(settings, head, untouched, trail, chosen),
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
    chosen: &mut Chosen,
) -> Result<(Way<S>, bool), Error> {
    // What may go to the client as it is waits for nobody before it is known that it does not.
    if untouched.is_none() {
        admit(settings, deadline, trail).await?;
        let (way, _) = way(settings, head, &mut None, deadline, trail, chosen).await?;
        return Ok((way, true));
    }
    // A rule may strip headers that it reads.
    let as_it_came = head.headers.clone();
    let found = way(settings, head, &mut untouched, deadline, trail, chosen).await?;
    if matches!(found.0, Way::Untouched(_)) {
        return Ok(found);
    }
    // What was chosen before the wait may be gone after it, and holds a slot if it is on trial.
    *chosen = Chosen::Nobody;
    admit(settings, deadline, trail).await?;
    head.headers = as_it_came;
    match decide(settings, head, &mut None::<S>, trail, chosen) {
        // Not without a client to be left untouched.
        Ok(Way::Untouched(_)) => Err(trail.gone(settings)),
        Ok(Way::Chosen) => Ok((Way::Chosen, true)),
        Err(error) => Err(trail.not_picked(settings, error)),
    }
}

//! Chooses the instances for a request.

use std::borrow::Borrow as _;

use http::request::Parts;
use ringfence_balancer::{Current, Decision, PickError, PickRequest};
use ringfence_core::RequestTags;
use ringfence_policy::{Decides, RequestHead};

use crate::error::Error;
use crate::key;
use crate::settings::Settings;

/// Picks; waits for the first view if there is none yet, and says whether it did.
pub(super) async fn decide(
    settings: &Settings,
    head: &mut Parts,
) -> Result<(Decision, bool), Error> {
    let balancer = &settings.balancer;
    let failed = |error| Error::from_pick(error, &settings.service);
    match pick(settings, head) {
        Err(PickError::NotReady { .. }) => {
            balancer.ready().await.map_err(failed)?;
            let decision = pick(settings, head).map_err(failed)?;
            Ok((decision, true))
        }
        picked => Ok((picked.map_err(failed)?, false)),
    }
}

fn pick(settings: &Settings, head: &mut Parts) -> Result<Decision, PickError> {
    settings
        .balancer
        .read(|current| match by_policy(settings, current, head) {
            Some(decision) => decision,
            None => by_baseline(settings, current, head),
        })?
}

/// `None` where the policy does not decide.
fn by_policy(
    settings: &Settings,
    current: Current<'_>,
    head: &mut Parts,
) -> Option<Result<Decision, PickError>> {
    let policy = current.policy()?;
    let evaluation = current.evaluate(&RequestHead::from(&*head))?;
    if evaluation.decides != Decides::Policy {
        return None;
    }
    let decision = current.pick_by(&evaluation, settings.max_candidates());
    let rule = evaluation.rule_index();
    drop(evaluation);
    for name in policy.stripped(rule) {
        head.headers.remove(name);
    }
    Some(decision)
}

/// As without a policy.
fn by_baseline(
    settings: &Settings,
    current: Current<'_>,
    head: &Parts,
) -> Result<Decision, PickError> {
    let mut request = PickRequest::new().with_max_candidates(settings.max_candidates());
    let key = key::find(
        &settings.keys,
        head,
        settings.balancer.config().max_key_len(),
    );
    if let Some(key) = &key {
        let bytes: &[u8] = key.borrow();
        request = request.with_key(bytes);
    }
    if let Some(tags) = head.extensions.get::<RequestTags>() {
        request = request.with_tags(tags);
    }
    current.pick(&request)
}

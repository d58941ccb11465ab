//! Chooses the instances for a request.

use std::borrow::Borrow as _;

use http::request::Parts;
use ringfence_balancer::{Decision, PickError, PickRequest};
use ringfence_core::RequestTags;

use crate::error::Error;
use crate::key;
use crate::settings::Settings;

/// Picks; waits for the first view if there is none yet, and says whether it did.
pub(super) async fn decide(settings: &Settings, head: &Parts) -> Result<(Decision, bool), Error> {
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

fn pick(settings: &Settings, head: &Parts) -> Result<Decision, PickError> {
    let Settings {
        balancer,
        keys,
        retry,
        ..
    } = settings;
    let mut request = PickRequest::new();
    let key = key::find(keys, head, balancer.config().max_key_len());
    if let Some(key) = &key {
        let bytes: &[u8] = key.borrow();
        request = request.with_key(bytes);
    }
    if let Some(tags) = head.extensions.get::<RequestTags>() {
        request = request.with_tags(tags);
    }
    if !retry.may_hop() {
        request = request.with_max_candidates(1);
    }
    balancer.pick(&request)
}

//! Chooses who decides a request, and by that its instances.

use std::borrow::Borrow as _;
use std::sync::Arc;

use http::request::Parts;
use ringfence_balancer::{
    Behind, Current, Decision, MissingKey, Owner, PickError, PickRequest, Suggestion,
};
use ringfence_core::{Instance, RequestTags};
use ringfence_policy::{Decides, RequestHead};

use super::trail::Trail;
use crate::baseline::Kind;
use crate::key;
use crate::settings::Settings;

/// Where a request goes.
pub(super) enum Way<S> {
    /// To those that were chosen.
    Chosen,
    /// As it is into the inner client.
    Untouched(Untouched<S>),
}

/// Whom a request may go to.
#[derive(Default)]
#[allow(
    clippy::large_enum_variant,
    reason = "it lies in the boxed future of a request, and a box of its own would be an allocation more"
)]
pub(super) enum Chosen {
    #[default]
    Nobody,
    /// The owner of its key, and those behind it if that fails.
    Owner(Owner),
    /// Those, once the attempt at the owner has begun.
    Behind(Behind),
    /// The candidates of a decision.
    Decision(Decision),
}

/// The inner client, which takes a request as it is.
pub(super) struct Untouched<S> {
    pub(super) service: S,
    /// What the policy would have done, if that is to be compared.
    pub(super) observed: Option<Box<Suggestion>>,
}

/// Decides by what is known now, into `chosen`. `untouched` takes the request if the policy does not decide, and `trail` gets the
/// name of the rule if it does.
pub(super) fn decide<S>(
    settings: &Settings,
    head: &mut Parts,
    untouched: &mut Option<S>,
    trail: &mut Trail,
    chosen: &mut Chosen,
) -> Result<Way<S>, PickError> {
    let decided = settings.balancer.read(|current| {
        let observed = match by_policy(settings, current, head, trail, chosen)? {
            ByPolicy::Chosen => return Ok(Way::Chosen),
            ByPolicy::Nothing => None,
            ByPolicy::Observed(suggestion) => Some(suggestion),
        };
        if let Some(service) = untouched.take() {
            return Ok(Way::Untouched(Untouched { service, observed }));
        }
        by_baseline(settings, current, head, trail, chosen)?;
        if let Some(suggestion) = observed {
            let actual = chosen.instance().map(|instance| instance.id().as_str());
            settings.balancer.observed(&suggestion, actual);
        }
        Ok(Way::Chosen)
    });
    match decided.flatten() {
        // What the client can do by itself is not held up by a registry.
        Err(error) => match untouched.take_if(|_| !would_decide(settings, head)) {
            Some(service) => Ok(Way::Untouched(Untouched {
                service,
                observed: None,
            })),
            None => Err(error),
        },
        way => way,
    }
}

/// Whether the policy will decide the request once there is a view.
fn would_decide(settings: &Settings, head: &Parts) -> bool {
    let policy = settings.balancer.latest_policy();
    let Some(policy) = policy.filter(|_| settings.balancer.is_policy_on()) else {
        return false;
    };
    let evaluation = policy.evaluate(&RequestHead::from(head), 0);
    evaluation.is_some_and(|evaluation| evaluation.decides == Decides::Policy)
}

/// What the policy does with a request.
enum ByPolicy {
    /// It has chosen.
    Chosen,
    Nothing,
    /// Nothing, but this is what it would have done.
    Observed(Box<Suggestion>),
}

fn by_policy(
    settings: &Settings,
    current: Current<'_>,
    head: &mut Parts,
    trail: &mut Trail,
    chosen: &mut Chosen,
) -> Result<ByPolicy, PickError> {
    let Some(policy) = current.policy() else {
        return Ok(ByPolicy::Nothing);
    };
    settings.tell_of_unused_keys(policy);
    let Some(evaluation) = current.evaluate(&RequestHead::from(&*head)) else {
        return Ok(ByPolicy::Nothing);
    };
    match evaluation.decides {
        Decides::Policy => {}
        Decides::Baseline => return Ok(ByPolicy::Nothing),
        Decides::BaselineObserved => {
            let suggestion = current.suggest(&evaluation);
            return Ok(ByPolicy::Observed(Box::new(suggestion)));
        }
    }
    let decision = current.pick_by(&evaluation, settings.max_candidates());
    *trail.rule() = Some(Arc::clone(evaluation.shared_rule()));
    trail.note_label(evaluation.shared_label());
    if let (Some(watched), Some(source)) = (trail.watched(), evaluation.key_source()) {
        let key = evaluation.key_bytes().filter(|_| settings.traces_keys);
        watched.key_source(source, key);
    }
    let rule = evaluation.rule_index();
    drop(evaluation);
    for name in policy.stripped(rule) {
        head.headers.remove(name);
    }
    *chosen = Chosen::Decision(decision?);
    Ok(ByPolicy::Chosen)
}

fn by_baseline(
    settings: &Settings,
    current: Current<'_>,
    head: &Parts,
    trail: &mut Trail,
    chosen: &mut Chosen,
) -> Result<(), PickError> {
    let request = PickRequest::new().with_max_candidates(settings.max_candidates());
    let missing_key = match settings.baseline.kind {
        Kind::Routing => return by_routing(settings, current, head, request, trail, chosen),
        Kind::RoundRobin => MissingKey::RoundRobin,
        Kind::LeastRequest => MissingKey::LeastRequest,
        Kind::P2c | Kind::Untouched => MissingKey::P2c,
    };
    *chosen = Chosen::Decision(current.pick(&request.with_missing_key(missing_key))?);
    Ok(())
}

fn by_routing(
    settings: &Settings,
    current: Current<'_>,
    head: &Parts,
    request: PickRequest<'_>,
    trail: &mut Trail,
    chosen: &mut Chosen,
) -> Result<(), PickError> {
    let longest = settings.balancer.config().max_key_len();
    let key = key::find(&settings.keys, head, longest);
    let mut request = request;
    if let Some((key, source)) = &key {
        let bytes: &[u8] = key.borrow();
        request = request.with_key(bytes);
        if let Some(watched) = trail.watched() {
            let is_key = bytes.len() <= longest;
            watched.key_source(
                source,
                Some(bytes).filter(|_| is_key && settings.traces_keys),
            );
        }
    }
    // Where the key is the only extension there are no tags to be looked for.
    let is_only_key = head.extensions.len() == 1
        && key
            .as_ref()
            .is_some_and(|(_, source)| source.is_extension());
    trail.key_is_all = is_only_key;
    if !is_only_key && let Some(tags) = head.extensions.get::<RequestTags>() {
        request = request.with_tags(tags);
    }
    // Who hedges wants to know at once whom to ask besides.
    if settings.retry.hedging().is_none()
        && let Some(owner) = current.owner(&request)
    {
        *chosen = Chosen::Owner(owner);
        return Ok(());
    }
    *chosen = Chosen::Decision(current.pick(&request)?);
    Ok(())
}

impl Chosen {
    /// The first of them.
    fn instance(&self) -> Option<&Instance> {
        match self {
            Self::Owner(owner) => Some(owner.instance()),
            Self::Decision(decision) => Some(decision.instance()),
            Self::Nobody | Self::Behind(_) => None,
        }
    }
}

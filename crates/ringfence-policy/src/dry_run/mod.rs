//! What would change if another policy were in force.

mod report;
mod sample;
#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, sync::Arc};

use http::Request;
use ringfence_core::{PlanId, RequestTags, Snapshot, View, ViewConfig};

pub use self::{
    report::{Cause, DryRun, Move, Place},
    sample::{SampleRequest, SampleRequestError},
};
use crate::{
    CompiledPolicy, Decides, Evaluation, MissingKey, RequestHead, RoutingKey, place::route_of,
};

/// Moves that are told one by one.
const MAX_EXAMPLES: usize = 100;

/// Compares two policies on the same instances: which of the requests would go elsewhere, and why. Requests that the policy
/// does not decide (because it is off, or their key is not in `enforce_percent`) go by the settings' routing and by their
/// [`RoutingKey`]; in observe mode the policy is compared as if it decided. Without a key no instance can be told, only the pool,
/// or that the rule refuses the request.
///
/// `snapshot` holds the instances, all of which count with the health that they are registered with, and `config` says how rings
/// are made where the policy does not, and who goes where without a policy: [`View::snapshot`] and [`View::config`] of a running balancer, or what you make
/// up. Nothing is sent.
///
/// # Examples
/// ```
/// use std::sync::Arc;
/// use ringfence_core::{Instance, Snapshot, ViewConfig};
/// use ringfence_policy::{PolicyContext, PolicyDocument, SampleRequest, dry_run};
///
/// let snapshot = Arc::new(Snapshot::new([
///     Instance::builder("stable-1", "10.0.0.1:80").build()?,
///     Instance::builder("gray-1", "10.0.0.2:80").version("gray").build()?,
/// ]));
/// let at = |percent: u8| PolicyDocument::parse_and_compile(
///     &format!("
/// ringfence: 1
/// gray: {{ v2: {{ to: {{ version: gray }}, percent: {percent} }} }}
/// rules: [{{ name: all, gray: [v2] }}]
/// "),
///     &PolicyContext::new(),
/// );
/// let requests = (0..100).map(|i| SampleRequest::from_key(format!("user-{i}")).to_request());
/// let requests = requests.collect::<Result<Vec<_>, _>>()?;
///
/// let report = dry_run(&at(0)?, &at(100)?, &snapshot, &ViewConfig::default(), &requests);
/// assert_eq!((report.requests, report.moved), (100, 100));
/// assert!(report.to_string().contains("gray release none -> v2"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn dry_run(
    old: &CompiledPolicy,
    new: &CompiledPolicy,
    snapshot: &Arc<Snapshot>,
    config: &ViewConfig,
    requests: &[Request<()>],
) -> DryRun {
    let view = |policy: &CompiledPolicy| {
        let plans = policy.plans().clone();
        let config = match policy.ring() {
            Some(ring) => config.clone().with_ring(ring.clone()),
            None => config.clone(),
        };
        View::first(config, plans, Arc::clone(snapshot), |_| None)
    };
    let (old_view, new_view) = (view(old), view(new));
    let mut report = DryRun::default();
    let mut shares: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for request in requests {
        let head = RequestHead::of(request);
        let before = Placed::of(old, &old_view, &head);
        let after = Placed::of(new, &new_view, &head);
        report.requests += 1;
        if let Some(instance) = &before.place.instance {
            shares.entry(instance.clone()).or_default().0 += 1;
        }
        if let Some(instance) = &after.place.instance {
            shares.entry(instance.clone()).or_default().1 += 1;
        }
        if before.place.instance == after.place.instance && before.keyless == after.keyless {
            continue;
        }
        let causes = before.causes(&after);
        report.moved += 1;
        report.count(&causes, &before.place, &after.place);
        if report.examples.len() < MAX_EXAMPLES {
            report.examples.push(Move {
                request: before.name(&head),
                from: before.place,
                to: after.place,
                causes,
            });
        }
    }
    report.shares = shares;
    report
}

/// Where a policy sends a request, and what made it.
struct Placed {
    place: Place,
    rule: String,
    gray: Option<String>,
    key: Option<String>,
    /// The algorithm, and what tells its settings from others on the same instances.
    ring: String,
    seed: u64,
    /// The pool of a request without a key, for which no instance can be told.
    keyless: Option<String>,
}

impl Placed {
    fn of(policy: &CompiledPolicy, view: &View, head: &RequestHead<'_>) -> Self {
        match policy.evaluate(head, 0) {
            Some(evaluation) if evaluation.decides != Decides::Baseline => {
                Self::by_policy(&evaluation, view)
            }
            _ => Self::by_baseline(view, head),
        }
    }

    fn by_policy(evaluation: &Evaluation<'_>, view: &View) -> Self {
        let route = route_of(view, evaluation.plan, &evaluation.tags);
        let key = evaluation.key_bytes();
        let gray = evaluation.gray.as_ref();
        let placed = Self {
            rule: evaluation.rule().to_owned(),
            gray: gray.map(|gray| gray.release.to_owned()),
            ..Self::on(view, &route, key, evaluation.salt)
        };
        match (key, evaluation.missing_key) {
            (None, Some(MissingKey::Reject)) => placed.refused(),
            _ => placed,
        }
    }

    fn refused(mut self) -> Self {
        self.place.pool = None;
        self.keyless = None;
        self
    }

    fn by_baseline(view: &View, head: &RequestHead<'_>) -> Self {
        let tags = head
            .extensions
            .get::<RequestTags>()
            .cloned()
            .unwrap_or_default();
        let key = head.extensions.get().map(RoutingKey::as_bytes);
        Self::on(view, &route_of(view, PlanId::ROUTING, &tags), key, 0)
    }

    fn on(view: &View, route: &ringfence_core::Route, key: Option<&[u8]>, salt: u64) -> Self {
        let chosen = route.choose(key, || 0);
        let pool = chosen.as_ref().map(|chosen| chosen.pool);
        let owner = key.zip(pool).and_then(|(key, pool)| {
            let member = pool.walk(pool.hash_key(key, salt)).next()?;
            Some(pool.pool().instance(member)?.id().to_string())
        });
        let name = pool.map(|pool| pool.pool().spec().to_string());
        let ring_seed = pool.and_then(|pool| pool.pool().spec().ring_seed());
        Self {
            keyless: name.clone().filter(|_| key.is_none()),
            place: Place {
                pool: name,
                instance: owner,
            },
            rule: Place::BASELINE.to_owned(),
            gray: None,
            key: key.map(|key| key.escape_ascii().to_string()),
            ring: {
                let ring = view.whole_ring();
                let print = ring.fingerprint().get() >> 96;
                format!("{} {print:08x}", ring.config().algorithm())
            },
            seed: ring_seed.unwrap_or(salt),
        }
    }

    fn causes(&self, after: &Self) -> Vec<Cause> {
        let none = || "none".to_owned();
        let named = |text: &Option<String>| text.clone().unwrap_or_else(none);
        let shown = |seed: u64| {
            if seed == 0 {
                none()
            } else {
                format!("{seed:016x}")
            }
        };
        let pairs = [
            (Cause::RULE, self.rule.clone(), after.rule.clone()),
            (Cause::GRAY, named(&self.gray), named(&after.gray)),
            (
                Cause::POOL,
                named(&self.place.pool),
                named(&after.place.pool),
            ),
            (Cause::KEY, named(&self.key), named(&after.key)),
            (Cause::RING, self.ring.clone(), after.ring.clone()),
            (Cause::SEED, shown(self.seed), shown(after.seed)),
        ];
        let changed = pairs.into_iter().filter(|(_, from, to)| from != to);
        changed
            .map(|(what, from, to)| Cause { what, from, to })
            .collect()
    }

    fn name(&self, head: &RequestHead<'_>) -> String {
        let key = self.key.as_deref().unwrap_or("no key");
        format!("{} {} ({key})", head.method, head.path)
    }
}

//! How far a policy that is only observed agrees with what is done without it.

use ringfence_balancer::Balancer;
use ringfence_policy::{CacheHits, ObserveReport};
use serde::Serialize;

use super::MAX_INSTANCES;

#[derive(Debug, Serialize)]
pub(crate) struct ObserveDocument {
    /// `None` while nothing was observed.
    observe: Option<Observed>,
}

#[derive(Debug, Serialize)]
struct Observed {
    /// Fingerprint of the policy, which need not be in force any more.
    policy: String,
    requests: u64,
    /// Those of them without a key.
    keyless: u64,
    /// Those where both instances are known, and those of them where they are the same.
    compared: u64,
    agreed: u64,
    /// Those where it is not known which instance got them.
    unknown: u64,
    /// Part of the requests whose key an instance would have ready; `None` of none.
    warm_share: Option<f64>,
    warm_share_with_policy: Option<f64>,
    /// Requests whose key had been seen on an earlier view, and those of them that would have gone elsewhere than then.
    returned: u64,
    moved: u64,
    instances: Vec<InstanceShares>,
    /// There are more instances than are told.
    truncated: bool,
}

/// Requests that an instance got, and would have got.
#[derive(Debug, Serialize)]
struct InstanceShares {
    id: String,
    actual: u64,
    suggested: u64,
}

pub(crate) fn observe(balancer: &Balancer) -> ObserveDocument {
    let report = balancer.observe_report();
    ObserveDocument {
        observe: (report.requests > 0).then(|| Observed::of(&report)),
    }
}

impl Observed {
    fn of(report: &ObserveReport) -> Self {
        let instances = report.shares.iter().take(MAX_INSTANCES);
        Self {
            policy: report.policy.clone(),
            requests: report.requests,
            keyless: report.keyless,
            compared: report.compared,
            agreed: report.agreed,
            unknown: report.unknown,
            warm_share: warm(report.actual_hits),
            warm_share_with_policy: warm(report.suggested_hits),
            returned: report.returned,
            moved: report.moved,
            truncated: report.uncounted > 0 || report.shares.len() > MAX_INSTANCES,
            instances: instances
                .map(|(id, share)| InstanceShares {
                    id: id.clone(),
                    actual: share.actual,
                    suggested: share.suggested,
                })
                .collect(),
        }
    }
}

fn warm(hits: CacheHits) -> Option<f64> {
    #[expect(
        clippy::cast_precision_loss,
        reason = "53 bits of a share are enough to show it"
    )]
    (hits.asked > 0).then(|| hits.hits as f64 / hits.asked as f64)
}

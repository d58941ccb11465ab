//! The pools of a view, and how requests find theirs.

use std::{collections::BTreeMap, sync::Arc};

use ringfence_balancer::{Balancer, CompiledPolicy};
use ringfence_core::{Attribute, PlanId, PoolView, RequestTags, Route, Stage, View};
use serde::Serialize;

use super::{MAX_POOLS, condition};

/// Most kinds of requests that are told of a plan.
const MAX_USES: usize = 4;

/// The pools that serve some route, and the routes.
#[derive(Debug, Serialize)]
pub(crate) struct Pools {
    epoch: u64,
    pools: Vec<PoolRow>,
    routes: Vec<RouteRow>,
    /// There are more pools or routes than are told.
    truncated: bool,
}

#[derive(Debug, Serialize)]
struct PoolRow {
    condition: String,
    members: usize,
    usable: usize,
    /// Those that requests go to: the usable ones, or in panic all that take traffic.
    eligible: usize,
    panic: bool,
    /// `None` where the ring of all instances is walked in its stead.
    ring: Option<PoolRing>,
}

#[derive(Debug, Serialize)]
struct PoolRing {
    algorithm: &'static str,
    points: usize,
    /// `None` where it would confirm a guess of a tenant: the ring or the shard follows from the tenant's name.
    fingerprint: Option<String>,
}

/// How some kinds of requests find their pool.
#[derive(Debug, Serialize)]
struct RouteRow {
    /// The plan that the stages are of: `routing` without a policy, or one of the policy.
    plan: String,
    /// The first of the kinds of requests that take it.
    uses: Vec<UseRow>,
    /// What the requests ask for, with values where tags are shown.
    tags: Vec<String>,
    /// In the order in which they are tried.
    stages: Vec<StageRow>,
    /// Place of the one that serves; above 0 it is a fallback.
    serves: Option<usize>,
}

#[derive(Clone, Debug, Serialize)]
struct UseRow {
    rule: String,
    /// The gray release that they are in.
    release: Option<String>,
    /// They are of a tenant that is kept apart.
    isolated: bool,
}

#[derive(Debug, Serialize)]
struct StageRow {
    condition: String,
    /// `None` where it was not looked at, because one before it serves.
    members: Option<usize>,
    usable: Option<usize>,
    /// Thousandths of the keys that it passes on.
    spilled: u16,
    /// It ends the search where any instance matches.
    strict: bool,
    /// Instances that must be usable.
    min_usable: usize,
    /// Part of its instances that must be usable, in per cent.
    min_share: u8,
}

/// `None` before the first view and after a shutdown.
pub(crate) fn pools(balancer: &Balancer, show_tags: bool) -> Option<Pools> {
    let (view, uses) = balancer
        .read(|current| {
            let uses = current.policy().map(uses_of).unwrap_or_default();
            (Arc::clone(current.view()), uses)
        })
        .ok()?;
    let untagged = RequestTags::new();
    let plans = view.plans().iter().map(|(plan, _)| plan);
    let bases = [PlanId::ROUTING].into_iter().chain(plans);
    let bases = bases.filter_map(|plan| Some((plan, &untagged, view.route(plan, &untagged)?)));
    let tagged = view
        .routes()
        .map(|(key, route)| (key.plan(), key.tags(), route));
    let routes = bases.chain(tagged).take(MAX_POOLS);
    let routes = routes.map(|(plan, tags, route)| RouteRow {
        plan: plan.to_string(),
        uses: uses.get(&plan).cloned().unwrap_or_default(),
        tags: tags
            .iter()
            .map(|(name, value)| tag(name, value, show_tags))
            .collect(),
        stages: stages(&view, plan, tags, route, show_tags),
        serves: route.chosen().map(|(stage, _)| stage),
    });
    let count_of_routes = view.plans().len() + 1 + view.routes().len();
    Some(Pools {
        epoch: view.epoch(),
        routes: routes.collect(),
        pools: view
            .pools()
            .take(MAX_POOLS)
            .map(|pool| PoolRow::of(pool, show_tags))
            .collect(),
        truncated: view.pools().len() > MAX_POOLS || count_of_routes > MAX_POOLS,
    })
}

fn uses_of(policy: &CompiledPolicy) -> BTreeMap<PlanId, Vec<UseRow>> {
    let mut uses: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for (plan, kind) in policy.plan_uses() {
        let of_plan = uses.entry(plan).or_default();
        if of_plan.len() < MAX_USES {
            of_plan.push(UseRow {
                rule: kind.rule.to_owned(),
                release: kind.release.map(ToOwned::to_owned),
                isolated: kind.is_isolated,
            });
        }
    }
    uses
}

fn tag(name: &Attribute, value: &str, show_tags: bool) -> String {
    if show_tags {
        format!("{name}={value}")
    } else {
        name.to_string()
    }
}

/// All stages of a route: those that were looked at, and those behind them.
fn stages(
    view: &View,
    plan: PlanId,
    tags: &RequestTags,
    route: &Route,
    show_tags: bool,
) -> Vec<StageRow> {
    let mut rows: Vec<_> = route
        .stages()
        .iter()
        .map(|outcome| StageRow {
            members: Some(outcome.members),
            usable: Some(outcome.usable),
            spilled: outcome.spilled,
            ..StageRow::of(&outcome.stage, show_tags)
        })
        .collect();
    let planned = view
        .plan(plan)
        .map(|plan| plan.stages(tags))
        .unwrap_or_default();
    rows.extend(
        planned
            .iter()
            .skip(rows.len())
            .map(|stage| StageRow::of(stage, show_tags)),
    );
    rows
}

impl StageRow {
    fn of(stage: &Stage, show_tags: bool) -> Self {
        let (min_usable, min_share) = match stage {
            Stage::Try {
                min_usable,
                min_share,
                ..
            } => (*min_usable, *min_share),
            _ => (0, 0),
        };
        Self {
            condition: condition::of_stage(stage, show_tags),
            members: None,
            usable: None,
            spilled: 0,
            strict: matches!(stage, Stage::StopIfRegistered(_)),
            min_usable,
            min_share,
        }
    }
}

impl PoolRow {
    fn of(pool: &PoolView, show_tags: bool) -> Self {
        let spec = pool.pool().spec();
        let is_of_tenant = spec.ring_seed().is_some() || spec.shard().is_some();
        Self {
            condition: condition::of_pool(spec, show_tags),
            members: pool.pool().len(),
            usable: pool.usable_count(),
            eligible: pool.eligible().len(),
            panic: pool.is_panic(),
            ring: pool.ring().map(|ring| PoolRing {
                algorithm: ring.config().algorithm().as_str(),
                points: ring.len(),
                fingerprint: (show_tags || !is_of_tenant).then(|| ring.fingerprint().to_string()),
            }),
        }
    }
}

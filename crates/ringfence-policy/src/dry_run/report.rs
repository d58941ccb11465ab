use std::{collections::BTreeMap, fmt};

use serde::Serialize;

/// What would change, see [`dry_run`](crate::dry_run). It can be serialised, and its text form is for people.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct DryRun {
    /// Requests that were compared.
    pub requests: usize,
    /// Those that would go elsewhere.
    pub moved: usize,
    /// How many would for each kind of cause, such as `gray release` or `pool, key`.
    pub by_cause: BTreeMap<String, usize>,
    /// How many would between each two pools.
    pub by_pools: BTreeMap<String, usize>,
    /// Requests of each instance, before and after; those without a key are in none.
    pub shares: BTreeMap<String, (usize, usize)>,
    /// The first 100 that would.
    pub examples: Vec<Move>,
}

/// A request that would go elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Move {
    /// The request: method, path and key.
    pub request: String,
    /// Where it goes.
    pub from: Place,
    /// Where it would go.
    pub to: Place,
    /// Why.
    pub causes: Vec<Cause>,
}

/// Where a request goes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[non_exhaustive]
pub struct Place {
    /// The pool; `None` where no pool can serve.
    pub pool: Option<String>,
    /// The owner of its key; `None` without a key.
    pub instance: Option<String>,
}

/// Something that is different for a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Cause {
    /// What: `rule`, `gray release`, `pool`, `key`, `ring` or `seed`.
    pub what: &'static str,
    /// Before.
    pub from: String,
    /// After.
    pub to: String,
}

impl Place {
    pub(super) const BASELINE: &'static str = "baseline";
}

impl Cause {
    pub(super) const RULE: &'static str = "rule";
    pub(super) const GRAY: &'static str = "gray release";
    pub(super) const POOL: &'static str = "pool";
    pub(super) const KEY: &'static str = "key";
    pub(super) const RING: &'static str = "ring";
    pub(super) const SEED: &'static str = "seed";
}

impl DryRun {
    pub(super) fn count(&mut self, causes: &[Cause], from: &Place, to: &Place) {
        let kinds: Vec<_> = causes.iter().map(|cause| cause.what).collect();
        *self.by_cause.entry(kinds.join(", ")).or_default() += 1;
        let pool = |place: &Place| place.pool.clone().unwrap_or_else(|| "no pool".to_owned());
        let pools = format!("[{}] -> [{}]", pool(from), pool(to));
        *self.by_pools.entry(pools).or_default() += 1;
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.pool, &self.instance) {
            (None, _) => f.write_str("nowhere"),
            (Some(pool), None) => write!(f, "[{pool}]"),
            (Some(pool), Some(instance)) => write!(f, "{instance} of [{pool}]"),
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} -> {}", self.what, self.from, self.to)
    }
}

impl fmt::Display for DryRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} of {} requests would move", self.moved, self.requests)?;
        for (causes, count) in &self.by_cause {
            writeln!(f, "  {count} because of: {causes}")?;
        }
        for (pools, count) in &self.by_pools {
            writeln!(f, "  {count} {pools}")?;
        }
        for (instance, (before, after)) in &self.shares {
            if before != after {
                writeln!(f, "  {instance}: {before} -> {after} requests")?;
            }
        }
        for example in &self.examples {
            let causes: Vec<_> = example.causes.iter().map(ToString::to_string).collect();
            writeln!(
                f,
                "{}: {} -> {}, because of {}",
                example.request,
                example.from,
                example.to,
                causes.join("; ")
            )?;
        }
        Ok(())
    }
}

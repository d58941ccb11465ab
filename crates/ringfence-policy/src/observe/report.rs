use std::{collections::BTreeMap, fmt};

use serde::Serialize;

/// How far a baseline and a policy agree, see [`Comparison`](crate::Comparison). It can be serialised, and its text form is for
/// people.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ObserveReport {
    /// Fingerprint of the policy that was observed, in hexadecimal digits; empty where nothing was, and of a
    /// [`Comparison`](crate::Comparison) by itself.
    pub policy: String,
    /// Requests.
    pub requests: u64,
    /// Those of them without a key.
    pub keyless: u64,
    /// Those where both instances are known.
    pub compared: u64,
    /// Those of them where they are the same.
    pub agreed: u64,
    /// Those where it is not known which instance got them.
    pub unknown: u64,
    /// By instance: requests that it got, and would have got.
    pub shares: BTreeMap<String, InstanceShare>,
    /// Requests of instances that are too many to be counted one by one.
    pub uncounted: u64,
    /// Simulated caches with what the instances got.
    pub actual_hits: CacheHits,
    /// Simulated caches with what they would have got.
    pub suggested_hits: CacheHits,
    /// Requests whose key had been seen on an earlier view.
    pub returned: u64,
    /// Those of them that would have gone to another instance than then.
    pub moved: u64,
}

/// Requests of an instance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct InstanceShare {
    /// That it got.
    pub actual: u64,
    /// That it would have got.
    pub suggested: u64,
}

/// How often a key was in the simulated cache of its instance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct CacheHits {
    /// Requests with a key, at instances that have a simulated cache.
    pub asked: u64,
    /// Those whose key was there.
    pub hits: u64,
}

impl ObserveReport {
    /// Thousandths of the compared requests where both agree.
    #[must_use]
    pub fn agreement_permille(&self) -> u64 {
        permille(self.agreed, self.compared)
    }
}

impl CacheHits {
    /// Thousandths of the requests whose key was there.
    #[must_use]
    pub fn permille(&self) -> u64 {
        permille(self.hits, self.asked)
    }
}

fn permille(part: u64, of: u64) -> u64 {
    let permille = u128::from(part) * 1_000 / u128::from(of.max(1));
    u64::try_from(permille).unwrap_or(u64::MAX)
}

/// In per cent; of nothing there is no share.
fn share(part: u64, of: u64) -> String {
    if of == 0 {
        return "nothing".to_owned();
    }
    let permille = permille(part, of);
    format!("{}.{} %", permille / 10, permille % 10)
}

impl fmt::Display for ObserveReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.requests == 0 {
            return writeln!(
                f,
                "nothing observed: no request was decided by the baseline under a policy or rule in mode `observe`"
            );
        }
        if !self.policy.is_empty() {
            write!(f, "policy {}: ", self.policy)?;
        }
        writeln!(
            f,
            "{} requests, {} without a key; both choose the same for {} of {}; for {} it is not known who got them",
            self.requests,
            self.keyless,
            share(self.agreed, self.compared),
            self.compared,
            self.unknown
        )?;
        writeln!(
            f,
            "warm: {} now, {} with the policy",
            share(self.actual_hits.hits, self.actual_hits.asked),
            share(self.suggested_hits.hits, self.suggested_hits.asked)
        )?;
        writeln!(
            f,
            "moved by changes of instances: {} of {} that came back",
            share(self.moved, self.returned),
            self.returned
        )?;
        for (instance, share) in &self.shares {
            writeln!(
                f,
                "{instance}: {} now, {} with the policy",
                share.actual, share.suggested
            )?;
        }
        Ok(())
    }
}

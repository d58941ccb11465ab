//! What an explanation tells.

use serde::Serialize;

use crate::{AuditReason, Decides, GrayWhy, MissingKey, TenantMode};

/// Why a request fails before any instance is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Refusal {
    /// No pool has a usable instance.
    NoInstances,
    /// It has no key, and must have one.
    KeyRequired,
}

/// How a policy decides one request on one view, from its key to the instances that are tried. It can be serialised, and its
/// text form is for people.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Explanation {
    /// Number of the view.
    pub epoch: u64,
    /// Fingerprint of the policy, in hexadecimal digits; empty where there is none.
    pub policy: String,
    /// The policy is switched off for the request, so that it is decided as without one.
    pub is_off: bool,
    /// The rule, `default` for none of the document.
    pub rule: String,
    /// Place of the rule in the document; behind its last one for `default`.
    pub rule_index: usize,
    /// Who decides.
    pub decides: Decides,
    /// The policy is in force and leaves this request to the baseline, because it observes or enforces for others: stages, walk,
    /// candidates and refusal are what it would do, and who is tried is the baseline's to say.
    pub is_suggested: bool,
    /// What each key source had, up to the one that was used.
    pub sources: Vec<SourceExplanation>,
    /// The key.
    pub key: Option<KeyExplanation>,
    /// What happens without a key.
    pub missing_key: MissingKey,
    /// Tags that are believed.
    pub tags: Vec<TagExplanation>,
    /// The tenant, and how it is kept apart.
    pub tenant: Option<(String, TenantMode)>,
    /// The gray release that the request is in, and why.
    pub gray: Option<(String, GrayWhy)>,
    /// The pools that were looked at, in order.
    pub stages: Vec<StageExplanation>,
    /// Place of the stage that serves, or would serve; `None` where none can.
    pub chosen: Option<usize>,
    /// Whether the key left an earlier stage that could have served it.
    pub is_spilled: bool,
    /// Whom the key passes on its way around the ring, until there are enough to try; at most 256.
    pub walk: Vec<StepExplanation>,
    /// The instances to be tried, in order; empty without a key. Where it [is only suggested](Self::is_suggested), those that
    /// the policy would try.
    pub candidates: Vec<String>,
    /// Why it fails without a try, if it does; or would fail, where it [is only suggested](Self::is_suggested).
    pub refused: Option<Refusal>,
}

/// What a key source had.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SourceExplanation {
    /// The source.
    pub source: String,
    /// `key`, `absent`, `too long` or `malformed`.
    pub outcome: &'static str,
}

/// A key on its way to the ring.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct KeyExplanation {
    /// Where it is from.
    pub source: String,
    /// As it is in the request; bytes that are no text are escaped.
    pub raw: String,
    /// As the ring gets it, after the normalisers and the keyed hash.
    pub normalised: String,
    /// Mixed into its hash, for a salted tenant.
    pub salt: u64,
    /// Its place on the ring of the chosen pool, in hexadecimal digits; `None` where no pool can serve, or the key is longer
    /// than the balancer allows.
    pub hash: Option<String>,
}

/// A tag that is believed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct TagExplanation {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
    /// Why it is believed.
    pub because: AuditReason,
}

/// A pool that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct StageExplanation {
    /// What it is made of.
    pub pool: String,
    /// Instances that are registered.
    pub members: usize,
    /// Those that can be used.
    pub usable: usize,
    /// Thousandths of the keys that it passes on.
    pub spilled: u16,
}

/// An instance on the way of the key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct StepExplanation {
    /// Its id.
    pub instance: String,
    /// `candidate`, or why it is passed by.
    pub verdict: &'static str,
}

//! Deciding a request.

mod audit;
mod gray;
mod tags;
#[cfg(test)]
mod tests;

use std::{fmt, sync::Arc};

use http::HeaderName;
use ringfence_core::{PlanId, name_seed};
use serde::Serialize;
use xxhash_rust::xxh3::xxh3_64_with_seed;

pub use self::{
    gray::{GrayIn, GrayWhy},
    tags::TrustedView,
};
use crate::{
    CompiledPolicy, FoundKey, MissingKey, Mode, RequestHead, TenantMode,
    compile::{CompiledRule, HeaderCache},
};

/// `enforce` in ASCII, the seed of the hash that chooses the keys which a policy decides in
/// [`Mode::EnforcePercent`].
const ENFORCE_SEED: u64 = 0x65_6e66_6f72_6365;

/// Who decides a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Decides {
    /// The policy.
    Policy,
    /// The baseline; what the policy would have done is to be compared.
    BaselineObserved,
    /// The baseline.
    Baseline,
}

/// What a policy says of a request. Made without an allocation unless a rule on the way has a regular expression, or the key
/// is longer than 128 bytes and has to be changed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Evaluation<'a> {
    /// Who decides.
    pub decides: Decides,
    /// Which plan gives the pools.
    pub plan: PlanId,
    /// The tags that are believed.
    pub tags: TrustedView<'a>,
    /// The key.
    pub key: FoundKey<'a>,
    /// To be mixed into the seed of the key's hash; 0 for no tenant that is salted.
    pub salt: u64,
    /// What happens without a key, if the rule says so; else the balancer's settings do.
    pub missing_key: Option<MissingKey>,
    /// The gray release that it is in.
    pub gray: Option<GrayIn<'a>>,
    /// The tenant that it is made for, and how it is kept apart.
    pub tenant: Option<(&'a str, TenantMode)>,
    /// Instances that may be tried, if the rule says so.
    pub max_attempts: Option<u32>,
    pub(crate) policy: &'a CompiledPolicy,
    pub(crate) rule: &'a CompiledRule,
    pub(crate) rule_index: usize,
    pub(crate) head: RequestHead<'a>,
}

impl CompiledPolicy {
    /// Decides a request. `draw` is a random number, for shares of requests without a key. `None` while the policy is off.
    ///
    /// # Examples
    /// ```
    /// use ringfence_policy::{PolicyContext, PolicyDocument, RequestHead};
    ///
    /// let policy = PolicyDocument::parse_and_compile("
    /// ringfence: 1
    /// rules:
    ///   - name: checkout
    ///     match: [{ grpc: { service: shop.v1.Checkout } }]
    ///     key: [{ header: x-user }]
    /// ", &PolicyContext::new())?;
    ///
    /// let request = http::Request::post("/shop.v1.Checkout/Pay").header("x-user", "alice").body(())?;
    /// let evaluation = policy.evaluate(&RequestHead::of(&request), 0).expect("not off");
    /// assert_eq!(evaluation.rule(), "checkout");
    /// assert_eq!(evaluation.key_bytes(), Some(&b"alice"[..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn evaluate<'a>(&'a self, head: &RequestHead<'a>, draw: u64) -> Option<Evaluation<'a>> {
        if self.off {
            return None;
        }
        let headers = HeaderCache::new(head.headers, &self.header_names);
        let all_tags = TrustedView::of(self, head);
        let accepts = |place: usize| {
            self.rules.get(place).is_some_and(|rule| {
                rule.matchers.is_empty()
                    || rule.matchers.iter().any(|matcher| {
                        let tag = |attribute: &_| all_tags.with_rule(rule).get(attribute);
                        matcher.accepts(head, &headers, tag)
                    })
            })
        };
        let rule_index = self.index.first(head, &headers, accepts)?;
        let rule = self.rules.get(rule_index)?;
        let tags = all_tags.with_rule(rule);
        if rule.mode == Mode::Off {
            return None;
        }
        let key = rule.key.find(head);
        let bytes = key.key.as_ref().map(|(bytes, _)| &**bytes);
        let tenant = tags.get(&self.tenant);
        let class = tenant.map(|name| (name, self.tenants.class(name)));
        let gray = self.gray(rule, head, tenant, bytes);
        let plan_class = class.map_or(0, |(_, class)| class.plan);
        Some(Evaluation {
            decides: decides(rule.mode, bytes, draw),
            plan: rule.plan(plan_class, gray.as_ref().map(|gray| gray.place)),
            salt: match class {
                Some((name, class)) if class.mode == TenantMode::Salted => name_seed(name),
                _ => 0,
            },
            missing_key: rule.missing_key,
            tenant: class.map(|(name, class)| (name, class.mode)),
            max_attempts: rule.max_attempts,
            policy: self,
            rule,
            rule_index,
            head: *head,
            gray,
            tags,
            key,
        })
    }
}

impl CompiledPolicy {
    /// [`Evaluation::strip`] of the rule at this [place](Evaluation::rule_index), for when the head is to be changed and no
    /// evaluation may borrow it any more.
    #[must_use]
    pub fn stripped(&self, rule_index: usize) -> &[HeaderName] {
        self.rules.get(rule_index).map_or(&[], |rule| &rule.strip)
    }
}

impl CompiledPolicy {
    /// All that requests may be [counted](Evaluation::shared_label) by: the rules, each also with its releases, and `default` for
    /// requests that no rule matches. Empty for a policy [of plans](Self::of_plans), whose program names its rules itself.
    pub fn labels(&self) -> impl Iterator<Item = &Arc<str>> {
        self.rules
            .iter()
            .flat_map(|rule| std::iter::once(&rule.name).chain(&rule.release_names))
    }
}

impl<'a> Evaluation<'a> {
    /// Name of the rule; `default` where none of the document matches.
    #[must_use]
    pub fn rule(&self) -> &'a str {
        &self.rule.name
    }

    /// [`rule`](Self::rule), to be kept.
    #[must_use]
    pub fn shared_rule(&self) -> &'a Arc<str> {
        &self.rule.name
    }

    /// What the request is counted by: the name of the rule, and of one that is in a gray release `rule@release`.
    #[must_use]
    pub fn shared_label(&self) -> &'a Arc<str> {
        let gray = self.gray.as_ref();
        let release = gray.and_then(|gray| self.rule.release_names.get(gray.place));
        release.unwrap_or(&self.rule.name)
    }

    /// Place of the rule in the document; behind its last one where none matches.
    #[must_use]
    pub fn rule_index(&self) -> usize {
        self.rule_index
    }

    /// The key as the ring gets it.
    #[must_use]
    pub fn key_bytes(&self) -> Option<&[u8]> {
        self.key.key.as_ref().map(|(bytes, _)| &**bytes)
    }

    /// Where the key is from, for people: `header x-user`.
    #[must_use]
    pub fn key_source(&self) -> Option<&'a dyn fmt::Display> {
        let (_, place) = self.key.key.as_ref()?;
        let source = self.rule.key.sources.get(*place)?;
        Some(&source.source)
    }

    /// Headers that must be taken out of the request before it goes on, because they name tags and are not trusted.
    #[must_use]
    pub fn strip(&self) -> &'a [HeaderName] {
        &self.rule.strip
    }
}

fn decides(mode: Mode, key: Option<&[u8]>, draw: u64) -> Decides {
    match mode {
        Mode::Off => Decides::Baseline,
        Mode::Observe => Decides::BaselineObserved,
        Mode::Enforce => Decides::Policy,
        Mode::EnforcePercent(percent) => {
            let number = key.map_or(draw, |key| xxh3_64_with_seed(key, ENFORCE_SEED));
            if percent.has(number) {
                Decides::Policy
            } else {
                Decides::Baseline
            }
        }
    }
}

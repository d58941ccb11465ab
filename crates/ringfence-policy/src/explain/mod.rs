//! Telling how a request is decided, step by step.

mod report;
#[cfg(test)]
mod tests;
mod text;
mod walk;

use ringfence_core::{PlanId, RequestTags, TagValues, View};

pub use self::report::{
    Explanation, KeyExplanation, Refusal, SourceExplanation, StageExplanation, StepExplanation,
    TagExplanation,
};
use self::walk::{Walk, Wish};
use crate::{
    AuditReason, CompiledPolicy, Decides, Evaluation, MissingKey, RequestHead, RoutingKey,
    keys::Reading,
};

/// Bounds that the balancer sets, whatever the policy says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExplainLimits {
    /// Instances that are tried at most.
    pub attempts: usize,
    /// Longest key in bytes; a longer one counts as absent.
    pub max_key_len: usize,
    /// What happens without a key where the rule does not say so.
    pub missing_key: MissingKey,
}

impl CompiledPolicy {
    /// Tells how a request is decided. The view must be one that was made with this policy's [`plans`](Self::plans).
    /// `attempts` instances are tried unless the rule wants fewer, and a missing key is [`MissingKey::P2c`] unless the rule says
    /// something else. `None` while the policy is off for the request. Where the policy leaves the request to the baseline, it
    /// tells what the policy [would do](Explanation::is_suggested).
    #[must_use]
    pub fn explain(
        &self,
        head: &RequestHead<'_>,
        draw: u64,
        view: &View,
        attempts: usize,
    ) -> Option<Explanation> {
        let limits = ExplainLimits {
            attempts,
            max_key_len: usize::MAX,
            missing_key: MissingKey::default(),
        };
        self.explain_within(head, draw, view, limits)
    }

    /// [`explain`](Self::explain) within the bounds of a balancer.
    #[must_use]
    pub fn explain_within(
        &self,
        head: &RequestHead<'_>,
        draw: u64,
        view: &View,
        limits: ExplainLimits,
    ) -> Option<Explanation> {
        let evaluation = self.evaluate(head, draw)?;
        Some(evaluation.explain(draw, view, limits))
    }
}

impl Explanation {
    /// Name in place of a rule's where no policy is in force.
    pub const NO_RULE: &str = "none";

    /// How a request is decided while no policy is in force: by the balancer's own routing, with the key of the extension
    /// [`RoutingKey`] and the tags of the extension [`RequestTags`].
    #[must_use]
    pub fn without_policy(
        head: &RequestHead<'_>,
        draw: u64,
        view: &View,
        limits: ExplainLimits,
    ) -> Self {
        let none = RequestTags::new();
        let tags = head.extensions.get::<RequestTags>().unwrap_or(&none);
        let bytes = head.extensions.get().map(RoutingKey::as_bytes);
        let found = bytes.filter(|key| !key.is_empty());
        let usable = found.filter(|key| key.len() <= limits.max_key_len);
        let walk = Walk::of(
            view,
            tags,
            &Wish {
                plan: PlanId::ROUTING,
                key: usable,
                salt: 0,
                missing_key: limits.missing_key,
                attempts: limits.attempts,
                draw,
            },
        );
        let source = "extension".to_owned();
        let outcome = match (usable, found) {
            (Some(_), _) => "key",
            (None, Some(_)) => "too long",
            (None, None) => "absent",
        };
        let tags = tags.iter().map(|(attribute, value)| TagExplanation {
            name: attribute.to_string(),
            value: value.to_owned(),
            because: AuditReason::Program,
        });
        Self {
            epoch: view.epoch(),
            policy: String::new(),
            is_off: false,
            rule: Self::NO_RULE.to_owned(),
            rule_index: 0,
            decides: Decides::Baseline,
            is_suggested: false,
            key: usable.map(|key| KeyExplanation {
                source: source.clone(),
                raw: shown(key),
                normalised: shown(key),
                salt: 0,
                hash: walk.hash.clone(),
            }),
            sources: vec![SourceExplanation { source, outcome }],
            missing_key: limits.missing_key,
            tags: tags.collect(),
            tenant: None,
            gray: None,
            stages: walk.stages,
            chosen: walk.chosen,
            is_spilled: walk.is_spilled,
            walk: walk.steps,
            candidates: walk.candidates,
            refused: walk.refused,
        }
    }

    /// Of a request that is decided [without the policy](Self::without_policy) because this one is switched off.
    #[must_use]
    pub fn with_policy_off(mut self, policy: &CompiledPolicy) -> Self {
        self.policy = format!("{:016x}", policy.fingerprint());
        self.is_off = true;
        self
    }
}

impl Evaluation<'_> {
    fn explain(&self, draw: u64, view: &View, limits: ExplainLimits) -> Explanation {
        let usable = self.key_bytes();
        let allowed = self.max_attempts.map_or(usize::MAX, |attempts| {
            usize::try_from(attempts).unwrap_or(usize::MAX)
        });
        let missing_key = self.missing_key.unwrap_or(limits.missing_key);
        let walk = Walk::of(
            view,
            &self.tags,
            &Wish {
                plan: self.plan,
                key: usable.filter(|key| key.len() <= limits.max_key_len),
                salt: self.salt,
                missing_key,
                attempts: limits.attempts.min(allowed),
                draw,
            },
        );
        let (mut key, sources) = self.explain_key();
        if let Some(key) = &mut key {
            key.hash = walk.hash;
        }
        Explanation {
            epoch: view.epoch(),
            policy: format!("{:016x}", self.policy.fingerprint()),
            is_off: false,
            rule: self.rule().to_owned(),
            rule_index: self.rule_index(),
            decides: self.decides,
            is_suggested: self.decides != Decides::Policy,
            sources,
            key,
            missing_key,
            tags: self.explain_tags(),
            tenant: self.tenant.map(|(name, mode)| (name.to_owned(), mode)),
            gray: self
                .gray
                .as_ref()
                .map(|gray| (gray.release.to_owned(), gray.why)),
            stages: walk.stages,
            chosen: walk.chosen,
            is_spilled: walk.is_spilled,
            walk: walk.steps,
            candidates: walk.candidates,
            refused: walk.refused,
        }
    }

    fn explain_key(&self) -> (Option<KeyExplanation>, Vec<SourceExplanation>) {
        let finder = &self.rule.key;
        let mut sources = Vec::new();
        let mut key = None;
        for source in &finder.sources {
            let name = source.source.to_string();
            let outcome = match source.read(&self.head, finder.max_len) {
                Reading::Key(_) => {
                    let raw = match source.raw(&self.head, finder.max_len) {
                        Reading::Key(raw) => shown(&raw),
                        Reading::Absent | Reading::TooLong | Reading::Malformed => String::new(),
                    };
                    key = Some(KeyExplanation {
                        source: name.clone(),
                        raw,
                        normalised: self.key_bytes().map(shown).unwrap_or_default(),
                        salt: self.salt,
                        hash: None,
                    });
                    "key"
                }
                Reading::Absent => "absent",
                Reading::TooLong => "too long",
                Reading::Malformed => "malformed",
            };
            sources.push(SourceExplanation {
                source: name,
                outcome,
            });
            if key.is_some() {
                break;
            }
        }
        (key, sources)
    }

    fn explain_tags(&self) -> Vec<TagExplanation> {
        let mut tags = Vec::new();
        self.tags.each(&mut |attribute, value| {
            let (_, because) = self
                .tags
                .get_with_source(attribute)
                .unwrap_or((value, AuditReason::Program));
            tags.push(TagExplanation {
                name: attribute.to_string(),
                value: value.to_owned(),
                because,
            });
        });
        tags
    }
}

fn shown(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.escape_debug().to_string(),
        Err(_) => bytes.escape_ascii().to_string(),
    }
}

use std::fmt;

use ringfence_core::{Attribute, clip};

use super::{Evaluation, GrayWhy, tags::one_value};
use crate::{AuditEvent, AuditReason, GrayTag, PeerAddress, TrustedTags, VerifiedClaims};

/// Values of a header that an event tells of.
const TOLD_VALUES: usize = 4;

/// `name=value`. Values come from anybody and go to a log: they are cut and escaped.
fn named(name: impl fmt::Display, value: &str) -> String {
    format!("{name}={}", clip(value).escape_debug())
}

impl Evaluation<'_> {
    /// What is to be recorded of the request's gray and tenant tags: used ones, and ones that were not believed. `service` is
    /// what it calls. Most requests have none, and cost nothing then.
    #[must_use]
    pub fn audit(&self, service: &str) -> Vec<AuditEvent> {
        let mut events = Vec::new();
        let mut record = |tag: String, reason: AuditReason, who: Option<&str>| {
            events.push(AuditEvent {
                who: who.map_or_else(|| self.caller(), clip),
                tag,
                service: service.to_owned(),
                rule: self.rule().to_owned(),
                decision: reason.decision(),
                reason,
            });
        };
        if let Some(tag) = self.head.extensions.get::<GrayTag>() {
            record(
                named("gray", tag.release()),
                self.gray_tag_reason(tag),
                Some(tag.who()),
            );
        }
        if let Some(gray) = &self.gray
            && gray.why == GrayWhy::Tenant
        {
            record(
                named("gray", gray.release),
                AuditReason::TenantListed,
                self.token_holder(),
            );
        }
        if let Some((tenant, reason)) = self.tags.get_with_source(&self.policy.tenant) {
            let who = self
                .token_holder()
                .filter(|_| reason == AuditReason::Authority);
            record(named("tenant", tenant), reason, who);
        }
        if let Some(token) = self.head.extensions.get::<TrustedTags>()
            && !self.is_believed(token)
        {
            for (attribute, value) in token.tags().iter() {
                let tag = named(attribute, value);
                record(tag, AuditReason::ForeignAuthority, Some(token.who()));
            }
        }
        for tag in &self.rule.header_tags {
            let headers = self.head.headers;
            // Asked in this order, requests without such a header allocate nothing.
            if !headers.contains_key(&tag.header) || !self.is_audited(&tag.attribute) {
                continue;
            }
            let reason = match one_value(headers, &tag.header) {
                _ if !tag.trusted => AuditReason::UntrustedHeader,
                None => AuditReason::ContradictoryHeader,
                Some(_) => continue,
            };
            let values: Vec<_> = headers
                .get_all(&tag.header)
                .iter()
                .take(TOLD_VALUES)
                .map(|value| String::from_utf8_lossy(value.as_bytes()))
                .collect();
            record(named(&tag.attribute, &values.join(", ")), reason, None);
        }
        events
    }

    fn gray_tag_reason(&self, tag: &GrayTag) -> AuditReason {
        let is_ours = self
            .policy
            .authority
            .as_ref()
            .is_some_and(|ours| tag.is_by(ours));
        let of_rule = self
            .rule
            .gray
            .iter()
            .filter_map(|place| self.policy.releases.get(*place));
        match of_rule
            .clone()
            .find(|release| *release.name == *tag.release())
        {
            _ if !is_ours => AuditReason::ForeignAuthority,
            None => AuditReason::NotInRule,
            Some(release) if !release.enabled => AuditReason::Stopped,
            Some(_) => AuditReason::Authority,
        }
    }

    /// Whether it is a tag that decides on tenants or releases.
    fn is_audited(&self, attribute: &Attribute) -> bool {
        *attribute == self.policy.tenant
            || *attribute == Attribute::Version
            || *attribute == Attribute::tag("gray")
            || self
                .policy
                .releases
                .iter()
                .any(|release| release.marker == *attribute)
    }

    fn is_believed(&self, token: &TrustedTags) -> bool {
        self.policy
            .authority
            .as_ref()
            .is_some_and(|ours| token.is_by(ours))
    }

    fn token_holder(&self) -> Option<&str> {
        let token = self.head.extensions.get::<TrustedTags>()?;
        self.is_believed(token).then_some(token.who())
    }

    fn caller(&self) -> String {
        let subject = self
            .head
            .extensions
            .get::<VerifiedClaims>()
            .and_then(|claims| claims.get("sub"));
        if let Some(subject) = subject {
            return clip(&String::from_utf8_lossy(subject));
        }
        let peer = self.head.extensions.get::<PeerAddress>();
        peer.map_or_else(String::new, |peer| peer.get().to_string())
    }
}

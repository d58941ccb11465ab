use std::{collections::BTreeMap, str};

use http::{HeaderMap, HeaderName, HeaderValue};
use ringfence_core::{Attribute, RequestTags, TagValues};

use crate::{AuditReason, CompiledPolicy, RequestHead, TrustedTags, compile::CompiledRule};

/// The tags of a request that are believed: what the authority says, else what the program says, else headers that the rule
/// trusts. It only borrows.
#[derive(Clone, Copy, Debug)]
pub struct TrustedView<'a> {
    authority: Option<&'a RequestTags>,
    program: Option<&'a RequestTags>,
    headers: &'a HeaderMap,
    rule: Option<&'a CompiledRule>,
}

impl<'a> TrustedView<'a> {
    pub(super) fn of(policy: &CompiledPolicy, head: &RequestHead<'a>) -> Self {
        let by_authority = policy.authority.as_ref().and_then(|authority| {
            let tags = head.extensions.get::<TrustedTags>()?;
            tags.is_by(authority).then_some(tags.tags())
        });
        Self {
            authority: by_authority,
            program: head.extensions.get(),
            headers: head.headers,
            rule: None,
        }
    }

    pub(super) fn with_rule(self, rule: &'a CompiledRule) -> Self {
        Self {
            rule: Some(rule),
            ..self
        }
    }

    /// The value of an attribute that is believed; `None` where nobody who is believed names one.
    #[must_use]
    pub fn get(&self, attribute: &Attribute) -> Option<&'a str> {
        self.get_with_source(attribute).map(|(value, _)| value)
    }

    /// And who says so.
    pub(crate) fn get_with_source(&self, attribute: &Attribute) -> Option<(&'a str, AuditReason)> {
        let of = |tags: Option<&'a RequestTags>| tags.and_then(|tags| tags.get(attribute));
        if let Some(value) = of(self.authority) {
            return Some((value, AuditReason::Authority));
        }
        if let Some(value) = of(self.program) {
            return Some((value, AuditReason::Program));
        }
        let value = self.of_header(attribute)?;
        Some((value, AuditReason::TrustedHeader))
    }

    fn of_header(&self, attribute: &Attribute) -> Option<&'a str> {
        let tags = self.rule?.header_tags.iter();
        let mut named = tags.filter(|tag| tag.trusted && tag.attribute == *attribute);
        named.find_map(|tag| {
            let value = str::from_utf8(one_value(self.headers, &tag.header)?.as_bytes())
                .ok()?
                .trim();
            (!value.is_empty()).then_some(value)
        })
    }

    /// All of them, in a form that can be kept.
    pub fn to_tags(&self) -> RequestTags {
        let mut tags = RequestTags::new();
        self.each(&mut |attribute, value| {
            tags = std::mem::take(&mut tags).with(attribute.clone(), value);
        });
        tags
    }
}

/// The value of a header, however often it is there; `None` where its values differ: then somebody has added one to what the
/// trusted side wrote, and nobody can tell whose is which.
pub(super) fn one_value<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a HeaderValue> {
    let mut values = headers.get_all(name).iter();
    let first = values.next()?;
    values.all(|value| value == first).then_some(first)
}

impl TagValues for TrustedView<'_> {
    fn value(&self, attribute: &Attribute) -> Option<&str> {
        self.get(attribute)
    }

    /// Allocates; only plans that depend on every tag ask for it, and those of a policy do not.
    fn each(&self, visit: &mut dyn FnMut(&Attribute, &str)) {
        let sets = [self.authority, self.program].into_iter().flatten();
        let in_sets = sets.flat_map(|tags| tags.iter().map(|(attribute, _)| attribute));
        let in_headers = self
            .rule
            .into_iter()
            .flat_map(|rule| rule.header_tags.iter());
        let attributes = in_sets.chain(in_headers.map(|tag| &tag.attribute));
        let found: BTreeMap<&Attribute, &str> = attributes
            .filter_map(|attribute| Some((attribute, self.get(attribute)?)))
            .collect();
        for (attribute, value) in found {
            visit(attribute, value);
        }
    }

    fn is_untagged(&self) -> bool {
        let is_empty = |tags: Option<&RequestTags>| tags.is_none_or(RequestTags::is_empty);
        let rule = self.rule.into_iter();
        is_empty(self.authority)
            && is_empty(self.program)
            && rule
                .flat_map(|rule| &rule.header_tags)
                .all(|tag| self.of_header(&tag.attribute).is_none())
    }
}

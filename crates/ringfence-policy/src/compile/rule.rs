use std::{collections::HashSet, sync::Arc};

use http::HeaderName;
use ringfence_core::{Attribute, PlanId, did_you_mean};

use super::{
    Release,
    key::{self, header_name},
    matcher::{HeaderNames, Matcher},
    plans::PlanTable,
    pools::Pools,
    tenants::{Isolation, PlanClass, TenantTable},
    text::RegexBudget,
    zone::LocalZone,
};
use crate::{MissingKey, Mode, PolicyContext, PolicyDocument, PolicyError, Rule, keys::KeyFinder};

/// Most instances that a request may try.
const MAX_ATTEMPTS: u32 = 8;

/// A checked [`Rule`].
#[derive(Debug)]
pub(crate) struct CompiledRule {
    pub(crate) name: Arc<str>,
    /// For each release at its place of `gray`, the name with that of the release.
    pub(crate) release_names: Box<[Arc<str>]>,
    /// Any of them must hold, if there are any.
    pub(crate) matchers: Box<[Matcher]>,
    pub(crate) header_tags: Box<[HeaderTag]>,
    pub(crate) strip: Box<[HeaderName]>,
    pub(crate) key: KeyFinder,
    pub(crate) missing_key: Option<MissingKey>,
    pub(crate) max_attempts: Option<u32>,
    /// Places of releases.
    pub(crate) gray: Box<[usize]>,
    pub(crate) mode: Mode,
    /// By class, and in each class by release: first that of requests outside of all.
    plans: Box<[PlanId]>,
}

/// A header that names a tag.
#[derive(Debug)]
pub(crate) struct HeaderTag {
    pub(crate) header: HeaderName,
    pub(crate) attribute: Attribute,
    pub(crate) trusted: bool,
}

impl CompiledRule {
    /// By class, and in each class by release: first that of requests outside of all.
    pub(super) fn plans(&self) -> &[PlanId] {
        &self.plans
    }

    /// The plan of requests of a class that are in the release at this place of [`gray`](Self::gray).
    pub(crate) fn plan(&self, class: PlanClass, release: Option<usize>) -> PlanId {
        let width = self.gray.len() + 1;
        let column = release.map_or(0, |release| release + 1);
        self.plans
            .get(class * width + column)
            .copied()
            .unwrap_or_default()
    }
}

/// A rule with all that it refers to.
pub(super) struct Part<'a> {
    pub(super) rule: &'a Rule,
    pub(super) path: &'a str,
    pub(super) document: &'a PolicyDocument,
    pub(super) context: &'a PolicyContext,
    pub(super) releases: &'a [Release],
    pub(super) tenants: &'a TenantTable,
    pub(super) local: &'a LocalZone,
    pub(super) regexes: &'a RegexBudget,
}

impl Part<'_> {
    pub(super) fn compile(
        &self,
        table: &mut PlanTable,
        names: &mut HeaderNames,
    ) -> Result<CompiledRule, PolicyError> {
        let Self { rule, path, .. } = self;
        let matcher = |(i, written)| {
            let path = format!("{path}.match[{i}]");
            Matcher::of(written, &path, names, self.regexes)
        };
        let matchers: Box<[_]> = rule
            .matches
            .iter()
            .enumerate()
            .map(matcher)
            .collect::<Result<_, _>>()?;
        let header_tags = self.header_tags()?;
        let gray = self.gray()?;
        let max_attempts = rule.limits.max_attempts;
        if let Some(attempts) = max_attempts.filter(|n| !(1..=MAX_ATTEMPTS).contains(n)) {
            let reason = format!("{attempts} is out of range, allowed is 1..={MAX_ATTEMPTS}");
            return Err(PolicyError::new(
                format!("{path}.limits.max_attempts"),
                reason,
            ));
        }
        let name = rule.name.trim();
        let releases = gray.iter().filter_map(|place| self.releases.get(*place));
        Ok(CompiledRule {
            name: name.into(),
            release_names: releases
                .map(|release| format!("{name}@{}", release.name).into())
                .collect(),
            plans: self.plans(&matchers, &gray, table)?,
            matchers,
            strip: header_tags
                .iter()
                .filter(|tag| !tag.trusted)
                .map(|tag| tag.header.clone())
                .collect(),
            header_tags,
            key: key::compile(rule, path, self.context)?,
            missing_key: rule.missing_key,
            max_attempts,
            gray,
            mode: self.document.mode.and(rule.mode),
        })
    }

    fn header_tags(&self) -> Result<Box<[HeaderTag]>, PolicyError> {
        let mut seen = HashSet::new();
        let tags = self.rule.tags_from_headers.iter().map(|(name, tag)| {
            let path = format!("{}.tags_from_headers.{name}", self.path);
            if tag.tag.trim().is_empty() {
                return Err(PolicyError::new(
                    format!("{path}.tag"),
                    "a tag needs a name",
                ));
            }
            let header = header_name(name, &path)?;
            if header.as_str().ends_with("-bin") {
                let reason = "binary metadata is no text, so it cannot name a tag";
                return Err(PolicyError::new(path, reason));
            }
            if !seen.insert(header.clone()) {
                return Err(PolicyError::new(path, "the header is there twice"));
            }
            Ok(HeaderTag {
                header,
                attribute: Attribute::named(&tag.tag),
                trusted: tag.trusted,
            })
        });
        tags.collect()
    }

    fn gray(&self) -> Result<Box<[usize]>, PolicyError> {
        let places = self.rule.gray.iter().enumerate().map(|(i, name)| {
            let place = self
                .releases
                .iter()
                .position(|release| *release.name == **name);
            place.ok_or_else(|| {
                let known = self.releases.iter().map(|release| &*release.name);
                let reason = format!("there is no release `{name}`{}", did_you_mean(name, known));
                PolicyError::new(format!("{}.gray[{i}]", self.path), reason)
            })
        });
        places.collect()
    }

    fn plans(
        &self,
        matchers: &[Matcher],
        gray: &[usize],
        table: &mut PlanTable,
    ) -> Result<Box<[PlanId]>, PolicyError> {
        let pools = Pools::of(self, matchers)?;
        let combinations = self.tenants.classes.len().saturating_mul(gray.len() + 1);
        table.announce(self.path, combinations)?;
        let mut plans = Vec::with_capacity(combinations);
        for class in &self.tenants.classes {
            let in_gray = gray.iter().map(|place| self.releases.get(*place));
            for release in [None].into_iter().chain(in_gray) {
                let has_own_ring = matches!(class, Isolation::OwnRing { .. });
                plans.push(table.place(pools.plan(*class, release)?, has_own_ring)?);
            }
        }
        Ok(plans.into())
    }
}

//! Which pools the requests of a rule may use, for each kind of tenant and each release.

use std::collections::BTreeMap;

use ringfence_core::{Attribute, Match, RoutePlan, ShardSeed, StageTemplate};

use super::{
    Release,
    matcher::Matcher,
    refused,
    rule::Part,
    stages::{Condition, Reader, Written},
    tenants::Isolation,
    zone::LocalZone,
};
use crate::{GrayElse, PolicyError, PoolStage, TagMatch};

/// Most pools of a rule.
const MAX_POOLS: usize = 16;
/// Versions that nobody gets without asking, as without a policy.
const GRAY_VERSIONS: [&str; 2] = ["gray", "canary"];

/// The pools of a rule, as they are written.
pub(super) struct Pools<'a> {
    path: &'a str,
    stages: Vec<Written>,
    releases: &'a [Release],
    local: &'a LocalZone,
    /// Whether the search ends where an instance is registered.
    strict: bool,
}

impl<'a> Pools<'a> {
    pub(super) fn of(part: &Part<'a>, matchers: &[Matcher]) -> Result<Self, PolicyError> {
        let mut stages = Vec::new();
        let written = &part.rule.pools;
        if written.len() > MAX_POOLS {
            let reason = format!("{} are too many, allowed are {MAX_POOLS}", written.len());
            return Err(PolicyError::new(format!("{}.pools", part.path), reason));
        }
        let usual = [
            PoolStage::default().requiring("version", TagMatch::Request),
            PoolStage::default(),
        ];
        let chosen = if written.is_empty() {
            &usual[..]
        } else {
            written
        };
        for (i, pool) in chosen.iter().enumerate() {
            let path = format!("{}.pools[{i}]", part.path);
            let reader = Reader {
                path: &path,
                local: part.local,
                releases: part.releases,
                matchers,
            };
            reader.read(pool, &mut stages)?;
        }
        Ok(Self {
            path: part.path,
            stages,
            releases: part.releases,
            local: part.local,
            strict: part.rule.strict,
        })
    }

    /// The plan of requests of a kind of tenant, in a release or outside of all.
    pub(super) fn plan(
        &self,
        class: Isolation,
        release: Option<&Release>,
    ) -> Result<RoutePlan, PolicyError> {
        let mut templates = Vec::new();
        let levels: &[Isolation] = match class {
            Isolation::Dedicated { strict: false } | Isolation::Shard { strict: false, .. } => {
                &[class, Isolation::Shared]
            }
            _ => &[class],
        };
        for (i, level) in levels.iter().enumerate() {
            if let Some(release) = release {
                self.append(*level, Some(release), false, &mut templates)?;
                if release.otherwise == GrayElse::Fail {
                    continue;
                }
            }
            let strict = self.strict && i + 1 == levels.len();
            self.append(*level, None, strict, &mut templates)?;
        }
        RoutePlan::of_stages(templates).map_err(refused(format!("{}.pools", self.path)))
    }

    fn append(
        &self,
        class: Isolation,
        release: Option<&Release>,
        strict: bool,
        templates: &mut Vec<StageTemplate>,
    ) -> Result<(), PolicyError> {
        for stage in &self.stages {
            let has_own_ring = matches!(class, Isolation::OwnRing { .. });
            if has_own_ring && stage.depends_on_request(release) {
                continue;
            }
            let template = self.template(stage, class, release)?;
            let template = if strict && stage.is_whole {
                template.strict()
            } else {
                template
            };
            // What differed in the version only is the same in a release of versions.
            if !templates.contains(&template) {
                templates.push(template);
            }
        }
        Ok(())
    }

    fn template(
        &self,
        stage: &Written,
        class: Isolation,
        release: Option<&Release>,
    ) -> Result<StageTemplate, PolicyError> {
        let error = || refused(format!("{}.pools", self.path));
        let to = release.map_or(&[][..], |release| &release.to);
        let is_replaced =
            |attribute: &Attribute| to.iter().any(|(replaced, _)| replaced == attribute);
        let mut template = StageTemplate::any();
        let mut settled: Vec<&Attribute> = Vec::new();
        for (attribute, matching) in to {
            template = template.and(attribute.clone(), matching.clone());
            settled.push(attribute);
        }
        for (attribute, condition) in &stage.conditions {
            if is_replaced(attribute) {
                continue;
            }
            template = match condition {
                Condition::Is(matching) => template.and(attribute.clone(), matching.clone()),
                Condition::IsNot(matching) => {
                    template = template.and(attribute.clone(), matching.clone());
                    continue;
                }
                Condition::Requested => {
                    let template = template.and_requested(attribute.clone());
                    match self.marks_of_others(attribute, release) {
                        values if values.is_empty() => template,
                        values => template.and(attribute.clone(), Match::none_of(values)),
                    }
                }
            };
            settled.push(attribute);
        }
        for (attribute, kept_out) in self.kept_out(release) {
            if !settled.contains(&&attribute) {
                template = template.and(attribute, kept_out);
            }
        }
        template = template
            .with_min_usable(stage.min_usable)
            .and_then(|template| template.with_min_share(stage.min_share))
            .map_err(error())?;
        if stage.spills {
            template = template.with_spill(self.local.spill);
        }
        let tenant = Attribute::tenant();
        Ok(match class {
            Isolation::Dedicated { .. } => template.and_requested(tenant),
            Isolation::Shared => template.and(tenant, Match::absent()),
            Isolation::OwnRing { seed } => {
                template.and(tenant, Match::absent()).with_ring_seed(seed)
            }
            Isolation::Shard { size, .. } => template
                .and(tenant, Match::absent())
                .with_shard(size, ShardSeed::tenant())
                .map_err(error())?,
        })
    }

    /// Values of an attribute by which other releases are known: who asks for one is not in the release by that.
    fn marks_of_others(&self, attribute: &Attribute, release: Option<&Release>) -> Vec<&'a str> {
        let others = self.others(release);
        let others = others.filter(|other| other.marker == *attribute);
        let values = others.flat_map(|other| &other.marker_values);
        values.map(String::as_str).collect()
    }

    fn others(&self, release: Option<&Release>) -> impl Iterator<Item = &'a Release> {
        let own = release.map(|own| own.name.clone());
        let others = self.releases.iter();
        others.filter(move |other| own.as_ref() != Some(&other.name))
    }

    /// What instances must not have that are for everybody (or for this release): what marks others.
    fn kept_out(&self, release: Option<&Release>) -> BTreeMap<Attribute, Match> {
        let others = self.others(release);
        let mut values: BTreeMap<&Attribute, Vec<&str>> = BTreeMap::new();
        values.insert(&Attribute::Version, GRAY_VERSIONS.to_vec());
        for other in others {
            let kept_out = values.entry(&other.marker).or_default();
            kept_out.extend(other.marker_values.iter().map(String::as_str));
        }
        let kept_out = values.into_iter().map(|(attribute, values)| {
            let matching = match attribute {
                // A tag that marks releases is for releases: a value that no release has must not be for everybody.
                Attribute::Tag(_) => Match::absent(),
                _ => Match::none_of(values),
            };
            (attribute.clone(), matching)
        });
        kept_out
            .chain([(Attribute::tag("gray"), Match::absent())])
            .collect()
    }
}

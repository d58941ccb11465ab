use super::{RequestTags, Stage};
use crate::{
    ConfigError,
    pool::{Attribute, Match, PoolSpec, Selector},
};

/// What happens to a request that asks for a value which no usable instance has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Fallback {
    /// It is refused.
    Never,
    /// It is refused where instances of its value are registered, whatever their state; where none is, it goes to the
    /// baseline. So most tenants share the shared instances, and a tenant with instances of its own never leaves them.
    WhenUnregistered,
    /// It goes to the baseline, never to another value.
    Always,
}

/// How one attribute narrows the pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TagRule {
    attribute: Attribute,
    baseline: Option<Match>,
    fallback: Fallback,
}

impl TagRule {
    /// A request that asks for a value of `attribute` goes to instances that have it; `fallback` says what else it may do.
    /// A request that asks for none goes to the `baseline`: the instances that match, or all where it is `None`.
    #[must_use]
    pub fn new(attribute: Attribute, baseline: Option<Match>, fallback: Fallback) -> Self {
        Self {
            attribute,
            baseline,
            fallback,
        }
    }
}

/// Turns the tags of a request into the pools that it may use, best first.
///
/// The default rules, in this order (a later rule gives way first):
///
/// | attribute | a request that asks for it | a request that does not |
/// |---|---|---|
/// | tag `tenant` | the tenant's own instances; where none is registered, the shared ones | instances without `tenant` |
/// | tag `gray` | instances with that value, else those without the tag | instances without `gray` |
/// | version | instances of that version, else the baseline | any version but `gray` and `canary` |
/// | region, zone | instances there, else anywhere | anywhere |
///
/// A tag without a rule is required of all instances when a request asks for it, and ignored otherwise.
///
/// # Examples
/// ```
/// use ringfence_core::{Attribute, Fallback, Match, RequestTags, TagRouting, TagRule};
///
/// // Requests without a version go to `stable` instances only; a `lane` never falls back.
/// let routing = TagRouting::default()
///     .with_rule(TagRule::new(Attribute::Version, Some(Match::is("stable")), Fallback::Always))
///     .with_rule(TagRule::new(Attribute::tag("lane"), Some(Match::absent()), Fallback::Never));
/// assert_eq!(routing.stages(&RequestTags::new()).len(), 1);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct TagRouting {
    rules: Vec<TagRule>,
    min_usable: usize,
}

impl Default for TagRouting {
    fn default() -> Self {
        let untagged = || Some(Match::absent());
        Self::empty()
            .with_rule(TagRule::new(
                Attribute::tenant(),
                untagged(),
                Fallback::WhenUnregistered,
            ))
            .with_rule(TagRule::new(
                Attribute::tag("gray"),
                untagged(),
                Fallback::Always,
            ))
            .with_rule(TagRule::new(
                Attribute::Version,
                Some(Match::none_of(["gray", "canary"])),
                Fallback::Always,
            ))
            .with_rule(TagRule::new(Attribute::Region, None, Fallback::Always))
            .with_rule(TagRule::new(Attribute::Zone, None, Fallback::Always))
    }
}

impl TagRouting {
    /// Most rules whose fallback doubles the stages: beyond it a request's value is required.
    const MAX_FALLBACKS: usize = 6;

    /// No rule: untagged requests may use every instance, and whatever a request asks for is required.
    pub fn empty() -> Self {
        Self {
            rules: Vec::new(),
            min_usable: 1,
        }
    }

    /// Adds a rule behind the others, or replaces the one for the same attribute in its place.
    pub fn with_rule(mut self, rule: TagRule) -> Self {
        match self
            .rules
            .iter_mut()
            .find(|r| r.attribute == rule.attribute)
        {
            Some(same) => *same = rule,
            None => self.rules.push(rule),
        }
        self
    }

    /// Usable instances that a pool must have to be taken; default 1, range 1..=1,000,000. Where no pool has as many, the
    /// first one with any does, else the first one that may serve in panic.
    ///
    /// # Errors
    /// [`ConfigError`] out of the range.
    pub fn with_min_usable(mut self, instances: usize) -> Result<Self, ConfigError> {
        self.min_usable = ConfigError::check("min_usable", instances, 1..=1_000_000)?;
        Ok(self)
    }

    /// Usable instances that a pool must have to be taken.
    #[must_use]
    pub fn min_usable(&self) -> usize {
        self.min_usable
    }

    /// The pools for a request with these tags, in the order in which they are tried; at most 128 stages.
    #[must_use]
    pub fn stages(&self, tags: &RequestTags) -> Vec<Stage> {
        let ruled =
            |attribute: &Attribute| self.rules.iter().any(|rule| rule.attribute == *attribute);
        let required = tags
            .iter()
            .filter(|(attribute, _)| !ruled(attribute))
            .fold(Selector::any(), |selector, (attribute, value)| {
                selector.and(attribute.clone(), Match::is(value))
            });
        let mut stages = Vec::new();
        self.expand(
            &self.rules,
            tags,
            required,
            Self::MAX_FALLBACKS,
            &mut stages,
        );
        stages
    }

    /// Appends the stages of the remaining rules under what the rules before them settled.
    fn expand(
        &self,
        rules: &[TagRule],
        tags: &RequestTags,
        settled: Selector,
        fallbacks_left: usize,
        stages: &mut Vec<Stage>,
    ) {
        let Some((rule, rest)) = rules.split_first() else {
            stages.push(Stage::Try {
                pool: PoolSpec::new(settled),
                min_usable: self.min_usable,
                min_share: 0,
                spill: None,
            });
            return;
        };
        let baseline = match &rule.baseline {
            Some(baseline) => settled
                .clone()
                .and(rule.attribute.clone(), baseline.clone()),
            None => settled.clone(),
        };
        let Some(value) = tags.get(&rule.attribute) else {
            return self.expand(rest, tags, baseline, fallbacks_left, stages);
        };
        let own = settled.and(rule.attribute.clone(), Match::is(value));
        let Some(fallbacks_left) = fallbacks_left
            .checked_sub(1)
            .filter(|_| rule.fallback != Fallback::Never)
        else {
            return self.expand(rest, tags, own, fallbacks_left, stages);
        };
        self.expand(rest, tags, own.clone(), fallbacks_left, stages);
        if rule.fallback == Fallback::WhenUnregistered {
            stages.push(Stage::StopIfRegistered(own));
        }
        self.expand(rest, tags, baseline, fallbacks_left, stages);
    }
}

use super::{RequestTags, Spill, Stage};
use crate::{
    ConfigError,
    instance::TENANT_TAG,
    pool::{Attribute, Match, PoolSpec, Selector, Shard, name_seed},
};

/// What an instance's value must be, given the request.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Wanted {
    Fixed(Match),
    /// The request's own value.
    Requested,
    /// Any value but the request's own, or none.
    Other,
}

/// Where the seed of a [`Shard`] comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ShardSeed {
    /// This number.
    Fixed(u64),
    /// The [`name_seed`] of what the request asks of this attribute.
    Requested(Attribute),
}

impl ShardSeed {
    /// Each tenant has a shard of its own.
    #[must_use]
    pub fn tenant() -> Self {
        Self::Requested(Attribute::tenant())
    }
}

/// A stage before the request is known.
///
/// # Examples
/// ```
/// use ringfence_core::{Attribute, Match, RequestTags, RoutePlan, StageTemplate};
///
/// let gray = StageTemplate::any()
///     .and(Attribute::Version, Match::is("gray"))
///     .and_requested(Attribute::Zone);
/// let plan = RoutePlan::of_stages([gray, StageTemplate::untagged()])?;
/// let shown = |tags: &RequestTags| plan.stages(tags).iter().map(ToString::to_string).collect::<Vec<_>>();
///
/// let stable = "version!=canary|gray, gray absent, tenant absent";
/// assert_eq!(shown(&RequestTags::new().with_zone("az-1")), ["version=gray, zone=az-1", stable]);
/// assert_eq!(shown(&RequestTags::new()), [stable], "no zone to prefer");
/// # Ok::<(), ringfence_core::ConfigError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct StageTemplate {
    conditions: Vec<(Attribute, Wanted)>,
    min_usable: usize,
    min_share: u8,
    strict: bool,
    shard: Option<(u32, ShardSeed)>,
    ring_seed: Option<u64>,
    spill: Option<Spill>,
}

impl Default for StageTemplate {
    fn default() -> Self {
        Self::any()
    }
}

impl StageTemplate {
    /// All instances; one usable one is enough.
    pub fn any() -> Self {
        Self {
            conditions: Vec::new(),
            min_usable: 1,
            min_share: 0,
            strict: false,
            shard: None,
            ring_seed: None,
            spill: None,
        }
    }

    /// The instances that requests without tags may use by the default rules: neither gray ones nor a tenant's own.
    pub fn untagged() -> Self {
        Self::any()
            .and(Attribute::tag(TENANT_TAG), Match::absent())
            .and(Attribute::tag("gray"), Match::absent())
            .and(Attribute::Version, Match::none_of(["gray", "canary"]))
    }

    /// Adds a condition.
    pub fn and(mut self, attribute: Attribute, matching: Match) -> Self {
        self.conditions.push((attribute, Wanted::Fixed(matching)));
        self
    }

    /// Only instances with the value that the request asks for. A request that asks for none goes by the stage.
    pub fn and_requested(mut self, attribute: Attribute) -> Self {
        self.conditions.push((attribute, Wanted::Requested));
        self
    }

    /// Only instances with another value than the request asks for, or with none; all where it asks for none. What remains for
    /// a stage whose keys [spill](Self::with_spill) over from the instances that have it.
    pub fn and_not_requested(mut self, attribute: Attribute) -> Self {
        self.conditions.push((attribute, Wanted::Other));
        self
    }

    /// Usable instances that the pool must have to be taken; default 1, range 1..=1,000,000.
    ///
    /// # Errors
    /// [`ConfigError`] out of the range.
    pub fn with_min_usable(mut self, instances: usize) -> Result<Self, ConfigError> {
        self.min_usable = ConfigError::check("min_usable", instances, 1..=1_000_000)?;
        Ok(self)
    }

    /// Part of its registered instances that must be usable for the pool to be taken, in per cent; default 0, range 0..=100.
    ///
    /// # Errors
    /// [`ConfigError`] above 100.
    pub fn with_min_share(mut self, percent: u8) -> Result<Self, ConfigError> {
        self.min_share = ConfigError::check("min_share", percent, 0..=100)?;
        Ok(self)
    }

    /// Where any registered instance meets the conditions, usable or not, no further stage is tried.
    pub fn strict(mut self) -> Self {
        self.strict = true;
        self
    }

    /// Only so many of the instances that meet the conditions, see [`Shard`]; range 1..=1,000,000. A request that does not ask
    /// for what the seed comes from goes by the stage.
    ///
    /// # Errors
    /// [`ConfigError`] out of the range.
    pub fn with_shard(mut self, size: u32, seed: ShardSeed) -> Result<Self, ConfigError> {
        self.shard = Some((Shard::check(size)?, seed));
        Ok(self)
    }

    /// A ring of its own, see [`PoolSpec::with_ring_seed`]. Not beside anything that depends on the request: a ring cannot be
    /// made while a request waits, see [`RoutePlan::of_stages`](super::RoutePlan::of_stages).
    pub fn with_ring_seed(mut self, seed: u64) -> Self {
        self.ring_seed = Some(seed);
        self
    }

    /// Lets a share of the keys go to the next stage that can serve; without one, all stay.
    pub fn with_spill(mut self, spill: Spill) -> Self {
        self.spill = Some(spill);
        self
    }

    pub(super) fn has_own_ring(&self) -> bool {
        self.ring_seed.is_some()
    }

    /// The attributes whose requested value matters.
    pub(super) fn asks(&self) -> impl Iterator<Item = &Attribute> {
        let of_shard = match &self.shard {
            Some((_, ShardSeed::Requested(attribute))) => Some(attribute),
            Some((_, ShardSeed::Fixed(_))) | None => None,
        };
        let of_conditions = self.conditions.iter().filter_map(|(attribute, wanted)| {
            (!matches!(wanted, Wanted::Fixed(_))).then_some(attribute)
        });
        of_conditions.chain(of_shard)
    }

    /// Appends what it is for a request.
    pub(super) fn expand(&self, tags: &RequestTags, stages: &mut Vec<Stage>) {
        let Some(pool) = self.pool(tags) else {
            return;
        };
        let selector = self.strict.then(|| pool.selector().clone());
        stages.push(Stage::Try {
            pool,
            min_usable: self.min_usable,
            min_share: self.min_share,
            spill: self.spill,
        });
        stages.extend(selector.map(Stage::StopIfRegistered));
    }

    /// `None` where the request does not ask for something that it needs.
    fn pool(&self, tags: &RequestTags) -> Option<PoolSpec> {
        let mut selector = Selector::any();
        for (attribute, wanted) in &self.conditions {
            let matching = match (wanted, tags.get(attribute)) {
                (Wanted::Fixed(matching), _) => matching.clone(),
                (Wanted::Requested, value) => Match::is(value?),
                (Wanted::Other, Some(value)) => Match::is_not(value),
                (Wanted::Other, None) => continue,
            };
            selector = selector.and(attribute.clone(), matching);
        }
        let mut pool = PoolSpec::new(selector);
        if let Some((size, seed)) = &self.shard {
            let seed = match seed {
                ShardSeed::Fixed(seed) => *seed,
                ShardSeed::Requested(attribute) => name_seed(tags.get(attribute)?),
            };
            pool = pool.with_shard(Shard::of_checked(*size, seed));
        }
        Some(match self.ring_seed {
            Some(seed) => pool.with_ring_seed(seed),
            None => pool,
        })
    }
}

//! What the pools of a document say, one by one.

use ringfence_core::{Attribute, Match};

use super::{Release, matcher::Matcher, zone::LocalZone};
use crate::{PolicyError, PoolStage, TagMatch};

/// A written pool, or one of the preferences in it.
#[derive(Clone)]
pub(super) struct Written {
    pub(super) conditions: Vec<(Attribute, Condition)>,
    pub(super) min_usable: usize,
    pub(super) min_share: u8,
    /// Whether keys may go on from here because too little of the zone is usable.
    pub(super) spills: bool,
    /// Whether the pool is the whole of what is written, not a preference in it.
    pub(super) is_whole: bool,
}

#[derive(Clone)]
pub(super) enum Condition {
    Is(Match),
    IsNot(Match),
    Requested,
}

impl Written {
    /// Whether it is different for different requests; `release` is the one that they are in.
    pub(super) fn depends_on_request(&self, release: Option<&Release>) -> bool {
        let to = release.map_or(&[][..], |release| &release.to);
        self.conditions.iter().any(|(attribute, condition)| {
            matches!(condition, Condition::Requested)
                && to.iter().all(|(replaced, _)| replaced != attribute)
        })
    }
}

/// Reads one pool of the document.
pub(super) struct Reader<'a> {
    pub(super) path: &'a str,
    pub(super) local: &'a LocalZone,
    pub(super) releases: &'a [Release],
    pub(super) matchers: &'a [Matcher],
}

impl Reader<'_> {
    /// Appends what is preferred, then the pool itself.
    pub(super) fn read(
        &self,
        pool: &PoolStage,
        stages: &mut Vec<Written>,
    ) -> Result<(), PolicyError> {
        let mut conditions = Vec::new();
        let mut unknown = false;
        for (name, matching) in &pool.require {
            let path = format!("{}.require.{name}", self.path);
            match self.condition(name, matching, &path)? {
                Some(condition) => conditions.push((Attribute::named(name), condition)),
                None => unknown = true,
            }
        }
        for (name, matching) in &pool.exclude {
            let path = format!("{}.exclude.{name}", self.path);
            let TagMatch::OneOf(values) = matching else {
                return Err(PolicyError::new(path, "only values are allowed here"));
            };
            conditions.push((
                Attribute::named(name),
                Condition::IsNot(Match::none_of(values)),
            ));
        }
        let mut preferred = conditions.clone();
        let mut prefers = false;
        for (name, matching) in &pool.prefer {
            let path = format!("{}.prefer.{name}", self.path);
            if pool.require.contains_key(name) {
                return Err(PolicyError::new(path, "it is required already"));
            }
            if let Some(condition) = self.condition(name, matching, &path)? {
                preferred.push((Attribute::named(name), condition));
                prefers = true;
            }
        }
        if unknown {
            return Ok(());
        }
        let min_usable = usize::try_from(pool.min_usable).unwrap_or(usize::MAX);
        let is_written_local = |matching: Option<&TagMatch>| matching == Some(&TagMatch::Local);
        let stage = |conditions: Vec<_>, is_whole| Written {
            conditions,
            min_usable,
            min_share: pool.min_share,
            spills: false,
            is_whole,
        };
        if prefers {
            let mut stage = stage(preferred, false);
            stage.spills = is_written_local(pool.prefer.get("zone"));
            self.append_local_first(stage, stages);
        }
        let mut stage = stage(conditions, true);
        stage.spills = is_written_local(pool.require.get("zone"));
        self.append_local_first(stage, stages);
        Ok(())
    }

    /// `None` where it is not known what is asked for.
    fn condition(
        &self,
        name: &str,
        matching: &TagMatch,
        path: &str,
    ) -> Result<Option<Condition>, PolicyError> {
        let attribute = Attribute::named(name);
        if attribute == Attribute::tenant() {
            let reason = "what is a tenant's own is said in `tenants`, not in pools";
            return Err(PolicyError::new(path, reason));
        }
        Ok(match (matching, &attribute) {
            (TagMatch::Request, _) => Some(Condition::Requested),
            (TagMatch::Local, Attribute::Zone) => self
                .local
                .zone
                .as_deref()
                .map(|zone| Condition::Is(Match::is(zone))),
            (TagMatch::Local, Attribute::Region) => self
                .local
                .region
                .as_deref()
                .map(|region| Condition::Is(Match::is(region))),
            (TagMatch::Local, _) => {
                return Err(PolicyError::new(
                    path,
                    "only zone and region can be `local`",
                ));
            }
            (TagMatch::OneOf(values), _) => {
                if values.is_empty() || values.iter().any(|value| value.trim().is_empty()) {
                    return Err(PolicyError::new(path, "a value is missing"));
                }
                for value in values {
                    self.check_free(&attribute, value.trim(), path)?;
                }
                let running = values
                    .iter()
                    .filter(|value| !self.is_stopped(&attribute, value.trim()));
                Some(Condition::Is(Match::one_of(running)))
            }
        })
    }

    /// Refuses what belongs to a release, unless the rule is only for requests whose trusted tags ask for it.
    fn check_free(
        &self,
        attribute: &Attribute,
        value: &str,
        path: &str,
    ) -> Result<(), PolicyError> {
        let owner = self.owners(attribute, value).next();
        let asks = |matcher: &Matcher| {
            let of_tag = matcher.tags.iter().filter(|(asked, _)| asked == attribute);
            of_tag
                .filter_map(|(_, text)| text.listed())
                .any(|texts| texts == [value.as_bytes()])
        };
        match owner {
            Some(release) if self.matchers.is_empty() || !self.matchers.iter().all(asks) => {
                let reason = format!(
                    "`{value}` belongs to release `{}`; a rule gets there by its `gray` list",
                    release.name
                );
                Err(PolicyError::new(path, reason))
            }
            _ => Ok(()),
        }
    }

    /// Whether a value is that of releases all of which are stopped.
    fn is_stopped(&self, attribute: &Attribute, value: &str) -> bool {
        let mut owners = self.owners(attribute, value).peekable();
        owners.peek().is_some() && owners.all(|release| !release.enabled)
    }

    fn owners(&self, attribute: &Attribute, value: &str) -> impl Iterator<Item = &Release> {
        self.releases.iter().filter(move |release| {
            release.marker == *attribute && release.marker_values.iter().any(|own| own == value)
        })
    }

    fn append_local_first(&self, whole: Written, stages: &mut Vec<Written>) {
        let speaks_of_zones = whole
            .conditions
            .iter()
            .any(|(attribute, _)| *attribute == Attribute::Zone);
        if let (true, false, Some(zone)) = (self.local.prefer, speaks_of_zones, &self.local.zone) {
            let mut here = whole.clone();
            here.conditions
                .push((Attribute::Zone, Condition::Is(Match::is(zone))));
            here.spills = true;
            here.is_whole = false;
            // Keys that leave the zone must not come back to it.
            let mut elsewhere = whole.clone();
            elsewhere
                .conditions
                .push((Attribute::Zone, Condition::IsNot(Match::is_not(zone))));
            elsewhere.is_whole = false;
            stages.extend([here, elsewhere]);
        }
        stages.push(whole);
    }
}

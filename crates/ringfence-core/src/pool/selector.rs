use std::{collections::BTreeSet, fmt, sync::Arc};

use crate::instance::{Instance, TENANT_TAG};

/// A field of an instance that a [`Selector`] can look at.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Attribute {
    /// [`Instance::version`].
    Version,
    /// [`Instance::zone`].
    Zone,
    /// [`Instance::region`].
    Region,
    /// The tag of this name.
    Tag(Arc<str>),
}

impl Attribute {
    /// The tag of this name; names are trimmed as those of instances are.
    #[must_use]
    pub fn tag(name: &str) -> Self {
        Self::Tag(name.trim().into())
    }

    /// What a name stands for where people write it: `version`, `zone`, `region`, else the [tag](Self::tag) of this name.
    ///
    /// # Examples
    /// ```
    /// use ringfence_core::Attribute;
    ///
    /// assert_eq!(Attribute::named(" zone "), Attribute::Zone);
    /// assert_eq!(Attribute::named("tenant"), Attribute::tenant());
    /// ```
    #[must_use]
    pub fn named(name: &str) -> Self {
        match name.trim() {
            "version" => Self::Version,
            "zone" => Self::Zone,
            "region" => Self::Region,
            tag => Self::tag(tag),
        }
    }

    /// The tag `tenant`.
    #[must_use]
    pub fn tenant() -> Self {
        Self::tag(TENANT_TAG)
    }

    pub(super) fn of<'a>(&self, instance: &'a Instance) -> Option<&'a str> {
        match self {
            Self::Version => instance.version(),
            Self::Zone => instance.zone(),
            Self::Region => instance.region(),
            Self::Tag(name) => instance.tag(name),
        }
    }
}

impl fmt::Display for Attribute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Version => "version",
            Self::Zone => "zone",
            Self::Region => "region",
            Self::Tag(name) => name,
        })
    }
}

/// What a value of an instance must be. Values are compared exactly.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Match(Kind);

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Kind {
    OneOf(Box<[Arc<str>]>),
    NoneOf(Box<[Arc<str>]>),
    Present,
    Absent,
}

impl Match {
    /// This value.
    #[must_use]
    pub fn is(value: &str) -> Self {
        Self::one_of([value])
    }

    /// Any other value, or none.
    #[must_use]
    pub fn is_not(value: &str) -> Self {
        Self::none_of([value])
    }

    /// One of these values; without any, nothing matches.
    pub fn one_of<V: AsRef<str>>(values: impl IntoIterator<Item = V>) -> Self {
        Self(Kind::OneOf(canonical(values)))
    }

    /// Any value but these, or none.
    pub fn none_of<V: AsRef<str>>(values: impl IntoIterator<Item = V>) -> Self {
        Self(Kind::NoneOf(canonical(values)))
    }

    /// Any value, but there must be one.
    #[must_use]
    pub fn present() -> Self {
        Self(Kind::Present)
    }

    /// No value.
    #[must_use]
    pub fn absent() -> Self {
        Self(Kind::Absent)
    }

    fn accepts(&self, value: Option<&str>) -> bool {
        let listed = |values: &[Arc<str>]| {
            value.is_some_and(|value| values.iter().any(|listed| **listed == *value))
        };
        match &self.0 {
            Kind::OneOf(values) => listed(values),
            Kind::NoneOf(values) => !listed(values),
            Kind::Present => value.is_some(),
            Kind::Absent => value.is_none(),
        }
    }
}

fn canonical<V: AsRef<str>>(values: impl IntoIterator<Item = V>) -> Box<[Arc<str>]> {
    let sorted: BTreeSet<Arc<str>> = values
        .into_iter()
        .map(|value| value.as_ref().trim().into())
        .collect();
    sorted.into_iter().collect()
}

/// Conditions on an instance that must all hold. Two selectors with the same conditions are equal, in whatever order they
/// were given, so that a pool is cached once.
///
/// # Examples
/// ```
/// use ringfence_core::{Attribute, Instance, Match, Selector};
///
/// let gray_here = Selector::any()
///     .and(Attribute::Version, Match::is("gray"))
///     .and(Attribute::Zone, Match::is("az-1"));
/// let instance = Instance::builder("a", "10.0.0.1:80").version("gray").zone("az-1").build()?;
/// assert!(gray_here.matches(&instance));
/// assert_eq!(gray_here.to_string(), "version=gray, zone=az-1");
/// # Ok::<(), ringfence_core::InstanceError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[must_use]
pub struct Selector(pub(super) BTreeSet<(Attribute, Match)>);

impl Selector {
    /// No condition: all instances.
    pub fn any() -> Self {
        Self::default()
    }

    /// Adds a condition.
    pub fn and(mut self, attribute: Attribute, matching: Match) -> Self {
        self.0.insert((attribute, matching));
        self
    }

    /// Whether all conditions hold.
    #[must_use]
    pub fn matches(&self, instance: &Instance) -> bool {
        self.0
            .iter()
            .all(|(attribute, matching)| matching.accepts(attribute.of(instance)))
    }

    /// The conditions that ask for one of some values.
    pub(super) fn asked(&self) -> impl Iterator<Item = (&Attribute, &[Arc<str>])> {
        self.0
            .iter()
            .filter_map(|(attribute, matching)| match &matching.0 {
                Kind::OneOf(values) => Some((attribute, &**values)),
                Kind::NoneOf(_) | Kind::Present | Kind::Absent => None,
            })
    }

    /// Whether it has no condition.
    #[must_use]
    pub fn is_any(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for Match {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (operator, values) = match &self.0 {
            Kind::OneOf(values) => ("=", values),
            Kind::NoneOf(values) => ("!=", values),
            Kind::Present => return f.write_str(" present"),
            Kind::Absent => return f.write_str(" absent"),
        };
        write!(f, "{operator}{}", values.join("|"))
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_any() {
            return f.write_str("any");
        }
        for (i, (attribute, matching)) in self.0.iter().enumerate() {
            let comma = if i == 0 { "" } else { ", " };
            write!(f, "{comma}{attribute}{matching}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instance(version: &str, lane: &str) -> Instance {
        Instance::builder("a", "h:1")
            .version(version)
            .tag("lane", lane)
            .build()
            .expect("legal")
    }

    #[test]
    fn every_kind_of_match_has_a_meaning_for_absent_values() {
        let lane = |matching| Selector::any().and(Attribute::tag("lane"), matching);
        for (matching, blue, none) in [
            (Match::is("blue"), true, false),
            (Match::is("BLUE"), false, false),
            (Match::is_not("blue"), false, true),
            (Match::one_of(["gray", "blue"]), true, false),
            (Match::one_of::<&str>([]), false, false),
            (Match::none_of(["gray"]), true, true),
            (Match::present(), true, false),
            (Match::absent(), false, true),
        ] {
            assert_eq!(
                lane(matching.clone()).matches(&instance("", "blue")),
                blue,
                "{matching:?} on blue"
            );
            assert_eq!(
                lane(matching.clone()).matches(&instance("", "")),
                none,
                "{matching:?} on none"
            );
        }
    }

    #[test]
    fn equal_conditions_make_equal_selectors() {
        let version = (Attribute::Version, Match::one_of(["b", " a ", "b"]));
        let lane = (Attribute::tag(" lane "), Match::absent());
        let one = Selector::any()
            .and(version.0.clone(), version.1.clone())
            .and(lane.0.clone(), lane.1.clone());
        let other = Selector::any()
            .and(lane.0.clone(), lane.1.clone())
            .and(lane.0, lane.1)
            .and(version.0, version.1);
        assert_eq!(one, other);
        assert_eq!(one.to_string(), "version=a|b, lane absent");
        assert!(
            one.matches(&instance("a", ""))
                && !one.matches(&instance("c", ""))
                && !one.matches(&instance("a", "x"))
        );
    }
}

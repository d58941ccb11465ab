//! What is legal in a document and does nothing.

use std::{collections::HashSet, fmt};

use ringfence_core::Attribute;
use serde::Serialize;

use super::zone::LocalZone;
use crate::{PolicyDocument, PoolStage, RequestMatch, Rule, TagMatch};

/// Something in a policy that is legal and has no effect, which is hardly what its author wants.
///
/// ```
/// use ringfence_policy::{PolicyContext, PolicyDocument, PolicyWarning};
///
/// let policy = PolicyDocument::parse_and_compile(
///     "{ ringfence: 1, gray: { next: { to: { version: v2 }, percent: 5 } }, rules: [{ name: all }] }",
///     &PolicyContext::new(),
/// )?;
/// assert!(matches!(policy.warnings(), [PolicyWarning::ReleaseUnused { .. }]));
/// assert_eq!(policy.warnings()[0].path(), "gray.next");
/// # Ok::<(), ringfence_policy::PolicyError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PolicyWarning {
    /// No rule that requests can reach names this release: nobody is in it, and its instances get no requests.
    ReleaseUnused {
        /// Where it is in the document.
        path: String,
        /// Its name.
        release: String,
    },
    /// A rule before this one matches every request.
    RuleUnreachable {
        /// Where it is in the document.
        path: String,
        /// Its name.
        rule: String,
        /// The name of the one before it.
        behind: String,
    },
    /// Each pool of a rule asks for the client's own zone or region, which nobody named, or for what the request names: a request
    /// that names nothing is served by none.
    PoolsUnknown {
        /// Where they are in the document.
        path: String,
        /// The name of the rule.
        rule: String,
        /// Whether there are pools that ask for what the request names.
        serves_requested: bool,
    },
    /// The own zone is to be preferred, and neither the document nor the program says which one that is.
    ZoneUnknown {
        /// Where it is in the document.
        path: String,
    },
}

impl PolicyWarning {
    /// The part of the document that it is about, for example `rules[3]`.
    #[must_use]
    pub fn path(&self) -> &str {
        match self {
            Self::ReleaseUnused { path, .. }
            | Self::RuleUnreachable { path, .. }
            | Self::PoolsUnknown { path, .. }
            | Self::ZoneUnknown { path } => path,
        }
    }
}

impl fmt::Display for PolicyWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.path())?;
        match self {
            Self::ReleaseUnused { release, .. } => write!(
                f,
                "no rule that requests can reach names release `{release}`, so nobody is in it and its instances get no requests"
            ),
            Self::RuleUnreachable { rule, behind, .. } => write!(
                f,
                "rule `{rule}` is never reached, because `{behind}` before it matches every request"
            ),
            Self::PoolsUnknown {
                rule,
                serves_requested,
                ..
            } => {
                let whom = if *serves_requested {
                    "only requests that name their pool themselves"
                } else {
                    "nobody"
                };
                write!(
                    f,
                    "rule `{rule}` serves {whom}, because its other pools ask for the client's zone or region, and it is not \
                     known which one that is: `PolicyContext::with_zone`, `with_region` or `zone.local` names it"
                )
            }
            Self::ZoneUnknown { .. } => f.write_str(
                "no zone is preferred, because it is not known which one is the client's: \
                 `PolicyContext::with_zone` or `zone.local` names it",
            ),
        }
    }
}

pub(super) fn warnings(document: &PolicyDocument, local: &LocalZone) -> Box<[PolicyWarning]> {
    let mut warnings = Vec::new();
    if local.prefer && local.zone.is_none() {
        warnings.push(PolicyWarning::ZoneUnknown {
            path: "zone.prefer_local".to_owned(),
        });
    }
    let places = 0..document.rules.len();
    let rules = places.zip(&document.rules);
    warnings.extend(rules.filter_map(|(place, rule)| pools_unknown(place, rule, local)));
    let catch_all = document.rules.iter().position(|rule| {
        let unconditional = RequestMatch::default();
        rule.matches.is_empty() || rule.matches.contains(&unconditional)
    });
    let reached = catch_all.map_or(document.rules.len(), |place| place + 1);
    let (reached, unreached) = document
        .rules
        .split_at_checked(reached)
        .unwrap_or((&document.rules, &[]));
    let named: HashSet<&str> = reached
        .iter()
        .flat_map(|rule| rule.gray.iter().map(String::as_str))
        .collect();
    let unused = document
        .gray
        .keys()
        .filter(|name| !named.contains(&***name));
    warnings.extend(unused.map(|name| PolicyWarning::ReleaseUnused {
        path: format!("gray.{name}"),
        release: name.clone(),
    }));
    let behind = reached.last().map(|rule| rule.name.trim());
    let places = reached.len()..;
    warnings.extend(
        places
            .zip(unreached)
            .map(|(place, rule)| PolicyWarning::RuleUnreachable {
                path: format!("rules[{place}]"),
                rule: rule.name.trim().to_owned(),
                behind: behind.unwrap_or_default().to_owned(),
            }),
    );
    warnings.into()
}

fn pools_unknown(place: usize, rule: &Rule, local: &LocalZone) -> Option<PolicyWarning> {
    let requires = |pool: &PoolStage, is_so: &dyn Fn(&Attribute, &TagMatch) -> bool| {
        let mut required = pool.require.iter();
        required.any(|(name, matching)| is_so(&Attribute::named(name), matching))
    };
    let is_unknown = |attribute: &Attribute, matching: &TagMatch| {
        let known = match attribute {
            Attribute::Zone => &local.zone,
            _ => &local.region,
        };
        *matching == TagMatch::Local && known.is_none()
    };
    let is_requested = |_: &Attribute, matching: &TagMatch| *matching == TagMatch::Request;
    let (unknown, known): (Vec<_>, Vec<_>) = rule
        .pools
        .iter()
        .partition(|pool| requires(pool, &is_unknown));
    let serves_requested = !known.is_empty();
    let is_void = !unknown.is_empty() && known.iter().all(|pool| requires(pool, &is_requested));
    is_void.then(|| PolicyWarning::PoolsUnknown {
        path: format!("rules[{place}].pools"),
        rule: rule.name.trim().to_owned(),
        serves_requested,
    })
}

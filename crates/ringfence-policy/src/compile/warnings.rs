//! What is legal in a document and does nothing.

use std::{collections::HashSet, fmt};

use serde::Serialize;

use super::zone::LocalZone;
use crate::{PolicyDocument, RequestMatch};

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

//! What can be said of a document without looking into its rules.

use std::collections::HashSet;

use super::UNMATCHED;
use crate::{PolicyDocument, PolicyError};

/// Releases that all rules name together: each costs a comparison with all others.
const MAX_GRAY: usize = 20_000;

pub(super) fn check_names(document: &PolicyDocument) -> Result<(), PolicyError> {
    let counts = [
        ("rules", document.rules.len(), PolicyDocument::MAX_RULES),
        ("gray", document.gray.len(), PolicyDocument::MAX_RELEASES),
        (
            "tenants",
            document.tenants.named.len(),
            PolicyDocument::MAX_TENANTS,
        ),
    ];
    for (path, count, most) in counts {
        if count > most {
            return Err(PolicyError::new(
                path,
                format!("{count} are too many, allowed are {most}"),
            ));
        }
    }
    let mut names = HashSet::new();
    for (i, rule) in document.rules.iter().enumerate() {
        let path = format!("rules[{i}].name");
        let name = rule.name.trim();
        if name.is_empty() {
            return Err(PolicyError::new(path, "a rule needs a name"));
        }
        if name == UNMATCHED {
            let reason = "`default` is the name of the rule for requests that no other matches";
            return Err(PolicyError::new(path, reason));
        }
        if !names.insert(name) {
            return Err(PolicyError::new(
                path,
                format!("there is another rule `{name}`"),
            ));
        }
    }
    let releases: usize = document.rules.iter().map(|rule| rule.gray.len()).sum();
    if releases > MAX_GRAY {
        let reason = format!("all rules together name {releases} releases, allowed are {MAX_GRAY}");
        return Err(PolicyError::new("rules", reason));
    }
    for name in document.gray.keys() {
        if name.trim().is_empty() {
            return Err(PolicyError::new("gray", "a release needs a name"));
        }
    }
    Ok(())
}

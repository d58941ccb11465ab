//! Conditions of pools, with or without the values of tags.

use std::fmt::Write as _;

use ringfence_core::{Attribute, PoolSpec, Selector, Stage};

/// What stands for the values of a tag.
const HIDDEN: &str = "…";

/// As [`PoolSpec`] is written.
pub(crate) fn of_pool(spec: &PoolSpec, show_tags: bool) -> String {
    if show_tags {
        return spec.to_string();
    }
    let mut text = of_selector(spec.selector());
    if let Some(shard) = spec.shard() {
        // Its seed is made of a tenant's name alone, so it tells which tenant it is to who guesses.
        let _ = write!(text, ", shard of {}", shard.size());
    }
    if spec.ring_seed().is_some() {
        text.push_str(", ring of its own");
    }
    text
}

/// As [`Stage`] is written.
pub(crate) fn of_stage(stage: &Stage, show_tags: bool) -> String {
    match stage {
        Stage::Try { pool, .. } => of_pool(pool, show_tags),
        Stage::StopIfRegistered(selector) if !show_tags => {
            format!("strict {}", of_selector(selector))
        }
        _ => stage.to_string(),
    }
}

fn of_selector(selector: &Selector) -> String {
    if selector.is_any() {
        return selector.to_string();
    }
    let conditions = selector.conditions().map(|(attribute, matching)| {
        let text = matching.to_string();
        let shown = match attribute {
            // What is asked of it is an operator and values, or words without any.
            Attribute::Tag(_) if text.starts_with("!=") => format!("!={HIDDEN}"),
            Attribute::Tag(_) if text.starts_with('=') => format!("={HIDDEN}"),
            _ => text,
        };
        format!("{attribute}{shown}")
    });
    conditions.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use ringfence_core::{Match, Shard};

    use super::*;

    #[test]
    fn values_of_tags_are_hidden() {
        let selector = Selector::any()
            .and(Attribute::Version, Match::is("gray"))
            .and(Attribute::tenant(), Match::is("acme, version=x"))
            .and(Attribute::tag("lane"), Match::none_of(["blue", "red"]))
            .and(Attribute::tag("old"), Match::absent());
        let spec = PoolSpec::new(selector.clone())
            .with_shard(Shard::new(2, 7).expect("legal"))
            .with_ring_seed(9);
        let hidden = of_pool(&spec, false);
        assert_eq!(
            hidden,
            "version=gray, lane!=…, old absent, tenant=…, shard of 2, ring of its own"
        );
        assert_eq!(of_pool(&spec, true), spec.to_string());
        let strict = Stage::StopIfRegistered(selector);
        assert!(!of_stage(&strict, false).contains("acme"));
        assert!(of_stage(&strict, true).contains("acme"));
        assert_eq!(of_pool(&PoolSpec::new(Selector::any()), false), "any");
    }
}

use super::*;
use crate::pool::{Attribute, Match};

fn shown(stages: &[Stage]) -> Vec<String> {
    stages.iter().map(ToString::to_string).collect()
}

#[test]
fn untagged_requests_have_one_stage_away_from_gray_and_dedicated_instances() {
    let stages = TagRouting::default().stages(&RequestTags::new());
    assert_eq!(
        shown(&stages),
        ["version!=canary|gray, gray absent, tenant absent"]
    );
}

#[test]
fn later_rules_give_way_first_and_a_tenant_stays_on_its_own_instances() {
    let routing = TagRouting::empty()
        .with_rule(TagRule::new(
            Attribute::tenant(),
            Some(Match::absent()),
            Fallback::WhenUnregistered,
        ))
        .with_rule(TagRule::new(
            Attribute::Version,
            Some(Match::is_not("gray")),
            Fallback::Always,
        ))
        .with_rule(TagRule::new(Attribute::Zone, None, Fallback::Always));
    let tags = RequestTags::new()
        .with_tenant("t")
        .with_version("gray")
        .with_zone("z");
    assert_eq!(
        shown(&routing.stages(&tags)),
        [
            "version=gray, zone=z, tenant=t",
            "version=gray, tenant=t",
            "version!=gray, zone=z, tenant=t",
            "version!=gray, tenant=t",
            "strict tenant=t",
            "version=gray, zone=z, tenant absent",
            "version=gray, tenant absent",
            "version!=gray, zone=z, tenant absent",
            "version!=gray, tenant absent",
        ]
    );
}

#[test]
fn a_tag_without_a_rule_is_required_and_a_strict_one_never_falls_back() {
    let tags = RequestTags::new()
        .with_tag("disk", "ssd")
        .with_tag("lane", "blue");
    assert_eq!(
        shown(&TagRouting::empty().stages(&tags)),
        ["disk=ssd, lane=blue"]
    );
    let strict = TagRule::new(
        Attribute::tag("lane"),
        Some(Match::absent()),
        Fallback::Never,
    );
    let routing = TagRouting::empty().with_rule(strict);
    assert_eq!(shown(&routing.stages(&tags)), ["disk=ssd, lane=blue"]);
    assert_eq!(shown(&routing.stages(&RequestTags::new())), ["lane absent"]);
}

#[test]
fn a_rule_replaces_the_one_for_its_attribute() {
    let routing = TagRouting::default().with_rule(TagRule::new(
        Attribute::Version,
        Some(Match::is("stable")),
        Fallback::Always,
    ));
    assert_eq!(
        shown(&routing.stages(&RequestTags::new())),
        ["version=stable, gray absent, tenant absent"]
    );
}

#[test]
fn the_number_of_stages_is_bounded() {
    let (mut routing, mut tags) = (TagRouting::empty(), RequestTags::new());
    for i in 0..40 {
        let name = format!("t{i:02}");
        routing = routing.with_rule(TagRule::new(
            Attribute::tag(&name),
            Some(Match::absent()),
            Fallback::WhenUnregistered,
        ));
        tags = tags.with_tag(&name, "x");
    }
    assert!(routing.stages(&tags).len() <= 128);
}

#[test]
fn a_pool_needs_at_least_one_instance() {
    let routing = TagRouting::default();
    assert_eq!(routing.min_usable(), 1);
    let two = routing.clone().with_min_usable(2).expect("in range");
    assert_eq!(two.min_usable(), 2);
    assert!(routing.with_min_usable(0).is_err());
}

#[test]
fn request_tags_are_normalised_and_sized() {
    let tags = RequestTags::new()
        .with_version(" gray ")
        .with_zone("")
        .with_tag(" lane ", "blue");
    assert_eq!(tags.get(&Attribute::Version), Some("gray"));
    assert_eq!(tags.to_string(), "version=gray, lane=blue");
    assert_eq!(tags.text_len(), 4 + 4 + 4);
    assert!(tags.with_version("").with_tag("lane", " ").is_empty());
}

mod plans;
mod spilling;

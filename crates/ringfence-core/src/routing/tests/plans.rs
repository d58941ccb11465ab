use super::{super::*, shown};
use crate::pool::{Attribute, Match, name_seed};

fn zoned() -> StageTemplate {
    StageTemplate::any().and_requested(Attribute::Zone)
}

fn plan(templates: impl IntoIterator<Item = StageTemplate>) -> RoutePlan {
    RoutePlan::of_stages(templates).expect("legal")
}

#[test]
fn the_routing_of_tags_is_a_plan() {
    let routing = TagRouting::default();
    let plan = RoutePlan::from(routing.clone());
    for tags in [
        RequestTags::new(),
        RequestTags::new().with_tenant("t").with_zone("z"),
    ] {
        assert_eq!(plan.stages(&tags), routing.stages(&tags));
        assert_eq!(plan.relevant(&tags), tags);
    }
    assert_eq!(plan.asks(), None);
}

#[test]
fn stages_take_the_requests_value_or_are_left_out() {
    let elsewhere = StageTemplate::any().and_not_requested(Attribute::Zone);
    let plan = plan([zoned(), elsewhere]);
    let stages = |tags: &RequestTags| shown(&plan.stages(tags));
    assert_eq!(
        stages(&RequestTags::new().with_zone("z")),
        ["zone=z", "zone!=z"]
    );
    assert_eq!(stages(&RequestTags::new()), ["any"]);
}

#[test]
fn a_strict_stage_ends_the_search_behind_itself() {
    let own = StageTemplate::any().and(Attribute::tenant(), Match::is("acme"));
    let plan = plan([
        own.clone().and(Attribute::Zone, Match::is("z")),
        own.strict(),
        StageTemplate::untagged(),
    ]);
    assert_eq!(
        shown(&plan.stages(&RequestTags::new())),
        [
            "zone=z, tenant=acme",
            "tenant=acme",
            "strict tenant=acme",
            "version!=canary|gray, gray absent, tenant absent",
        ]
    );
}

#[test]
fn stages_carry_what_they_need_to_be_taken() {
    let template = StageTemplate::any().with_min_usable(2).expect("legal");
    let stage = plan([template.with_min_share(50).expect("legal")]).stages(&RequestTags::new());
    // (usable, members) -> served
    for (usable, members, served) in [(2, 4, true), (1, 2, false), (2, 5, false), (3, 6, true)] {
        assert_eq!(
            stage[0].is_served_by(usable, members),
            served,
            "{usable} of {members}"
        );
    }
    assert!(!Stage::StopIfRegistered(crate::Selector::any()).is_served_by(9, 9));
}

#[test]
fn a_shard_of_the_tenant_is_told_by_its_name() {
    let sharded = StageTemplate::any()
        .with_shard(4, ShardSeed::tenant())
        .expect("legal");
    let plan = plan([sharded, StageTemplate::untagged()]);
    let acme = plan.stages(&RequestTags::new().with_tenant("acme"));
    let Stage::Try { pool, .. } = &acme[0] else {
        panic!("{acme:?}");
    };
    let shard = pool.shard().expect("a shard");
    assert_eq!((shard.size(), shard.seed()), (4, name_seed("acme")));
    assert_eq!(plan.stages(&RequestTags::new()).len(), 1, "no tenant");
}

#[test]
fn only_what_matters_to_a_plan_tells_its_routes_apart() {
    let plan = plan([zoned(), StageTemplate::untagged()]);
    assert_eq!(plan.asks(), Some(&[Attribute::Zone][..]));
    let tags = RequestTags::new().with_zone("z").with_tag("noise", "1");
    assert_eq!(plan.relevant(&tags), RequestTags::new().with_zone("z"));
}

#[test]
fn a_ring_of_its_own_is_refused_where_a_request_decides() {
    let own = || StageTemplate::any().with_ring_seed(7);
    assert!(RoutePlan::of_stages([own(), StageTemplate::untagged()]).is_ok());
    for depends in [
        own().and_requested(Attribute::Zone),
        own().and_not_requested(Attribute::Zone),
        own()
            .with_shard(2, ShardSeed::Requested(Attribute::Zone))
            .expect("legal"),
    ] {
        let error = RoutePlan::of_stages([depends]).expect_err("its ring could not be there");
        assert_eq!(
            error.to_string(),
            "ring_seed is set in a plan that depends on the zone of the request, \
             allowed is only where nothing depends on the request"
        );
    }
    assert!(RoutePlan::of_stages([own(), zoned()]).is_err());
}

#[test]
fn settings_out_of_range_are_refused() {
    let any = StageTemplate::any;
    assert!(any().with_min_usable(0).is_err());
    assert!(any().with_min_share(101).is_err());
    assert!(any().with_shard(0, ShardSeed::tenant()).is_err());
}

#[test]
fn plans_are_numbered_behind_the_routing() {
    let plans = RoutePlans::new([plan([zoned()]), plan([StageTemplate::untagged()])]);
    let ids: Vec<_> = plans.iter().map(|(id, _)| id).collect();
    assert_eq!(ids, [PlanId::nth(0), PlanId::nth(1)]);
    assert_eq!(
        plans.get(PlanId::nth(1)),
        Some(&plan([StageTemplate::untagged()]))
    );
    for none in [
        PlanId::ROUTING,
        PlanId::nth(2),
        PlanId::nth(u32::MAX as usize),
        PlanId::nth(usize::MAX),
    ] {
        assert_eq!(plans.get(none), None, "{none}");
    }
    assert!(plans.same(&plans.clone()) && !plans.same(&RoutePlans::default()));
}

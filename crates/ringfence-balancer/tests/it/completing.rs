//! Picks of the first candidate alone, and the others behind it.

use proptest::prelude::*;
use ringfence_balancer::{Balancer, BalancerConfig, Decision, OutlierConfig, PickRequest};
use ringfence_core::RequestTags;

use crate::support::*;

fn whole(balancer: &Balancer, key: &str) -> Decision {
    let request = PickRequest::new().with_key(key);
    balancer.pick(&request).expect("an owner")
}

fn first_only(balancer: &Balancer, key: &str) -> Decision {
    let request = PickRequest::new().with_key(key).with_first_candidate_only();
    balancer.pick(&request).expect("an owner")
}

fn ids(decision: &Decision) -> Vec<String> {
    let candidates = decision.candidates_and_last_resorts();
    candidates.map(|c| c.instance().id().to_string()).collect()
}

fn attempts(most: usize) -> BalancerConfig {
    let config = BalancerConfig::default().with_max_attempts(most);
    config.expect("in range")
}

proptest! {
    /// Whatever the fleet, whoever is ejected, and however many attempts there may be.
    #[test]
    fn the_others_are_those_that_a_whole_pick_finds(
        count in 1..12_usize,
        ejected in proptest::collection::vec(0..12_usize, 0..3),
        most in 1..=8_usize,
        key in "[a-z]{1,12}",
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build()
            .expect("a runtime");
        runtime.block_on(async {
            let registry = registry((0..count).map(instance));
            let balancer = balancer(&registry, attempts(most)).await;
            for n in ejected.into_iter().filter(|n| *n < count) {
                let id = format!("i{n}");
                let owned = (0..10_000).map(|n| format!("key-{n}")).find(|key| owner(&balancer, key) == id);
                if let Some(owned) = owned {
                    fail(&balancer, &owned, 5);
                    settle().await;
                }
            }
            let expected = whole(&balancer, &key);
            let mut decision = first_only(&balancer, &key);
            prop_assert_eq!(decision.instance().id(), expected.instance().id());
            prop_assert_eq!(decision.key_hash(), expected.key_hash());
            prop_assert_eq!(decision.is_panic(), expected.is_panic());
            balancer.complete(&mut decision);
            prop_assert!(decision.is_complete());
            prop_assert_eq!(ids(&decision), ids(&expected));
            prop_assert_eq!(decision.last_resorts(), expected.last_resorts());
            // Nothing more is there to be found.
            balancer.complete(&mut decision);
            prop_assert_eq!(ids(&decision), ids(&expected));
            Ok(())
        })?;
    }
}

#[tokio::test(start_paused = true)]
async fn only_what_may_have_others_is_incomplete() {
    let registry = registry((0..4).map(instance));
    let balancer = balancer(&registry, attempts(3)).await;
    let decision = first_only(&balancer, "k");
    assert!(!decision.is_complete());
    assert_eq!(decision.candidates().len(), 1);
    assert!(whole(&balancer, "k").is_complete());

    let request = PickRequest::new().with_key("k").with_first_candidate_only();
    let one = balancer.pick(&request.with_max_candidates(1));
    assert!(one.expect("an owner").is_complete());
    // What more is asked of a route is looked for at once.
    let tags = RequestTags::new();
    let tagged = balancer.pick(&request.with_tags(&tags));
    assert_eq!(tagged.expect("an owner").candidates().len(), 3);
    let keyless = PickRequest::new().with_first_candidate_only();
    assert!(balancer.pick(&keyless).expect("an owner").is_complete());
}

#[tokio::test(start_paused = true)]
async fn who_has_left_meanwhile_is_not_among_the_others() {
    let registry = registry((0..4).map(instance));
    let balancer = balancer(&registry, attempts(3)).await;
    let before = ids(&whole(&balancer, "k"));
    let mut decision = first_only(&balancer, "k");
    registry.deregister(service(), before[0].as_str());
    registry.deregister(service(), before[1].as_str());
    merged().await;
    balancer.complete(&mut decision);
    let after = ids(&decision);
    assert_eq!(after.len(), 3, "{after:?}");
    // What was picked stays; who comes behind it is of the list as it is.
    assert_eq!(after[0], before[0]);
    assert!(!after.contains(&before[1]), "{after:?}");
    assert_eq!(after[1..], ids(&whole(&balancer, "k"))[..]);
}

/// The very one that was picked is ejected by the failure of the call, and others with it.
#[tokio::test(start_paused = true)]
async fn who_is_ejected_meanwhile_comes_last() {
    let registry = registry((0..4).map(instance));
    let outlier = OutlierConfig::default().with_max_ejection_percent(50);
    let config = attempts(4).with_outlier(outlier.expect("valid"));
    let balancer = balancer(&registry, config).await;
    let before = ids(&whole(&balancer, "k"));
    let mut decision = first_only(&balancer, "k");
    for id in [&before[0], &before[2]] {
        fail(&balancer, &key_of(&balancer, id), 5);
    }
    settle().await;
    assert_eq!(balancer.status().ejected, 2);
    balancer.complete(&mut decision);
    let after: Vec<&str> = decision
        .candidates_and_last_resorts()
        .map(|candidate| candidate.instance().id().as_str())
        .collect();
    // The first stays what it is, and is not there again among the last resorts.
    let expected = [0, 1, 3, 2].map(|place| before[place].as_str());
    assert_eq!(after, expected);
    assert_eq!(decision.last_resorts(), 1);
    assert_eq!(decision.candidates().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn after_a_shutdown_there_are_no_others() {
    let registry = registry((0..4).map(instance));
    let balancer = balancer(&registry, attempts(3)).await;
    let mut decision = first_only(&balancer, "k");
    balancer.shutdown().await;
    balancer.complete(&mut decision);
    assert!(decision.is_complete());
    assert_eq!(decision.candidates().len(), 1);
}

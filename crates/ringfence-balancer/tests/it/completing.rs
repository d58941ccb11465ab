//! The owner of a key alone, and the others behind it.

use proptest::prelude::*;
use ringfence_balancer::{Balancer, BalancerConfig, Decision, OutlierConfig, Owner, PickRequest};
use ringfence_core::RequestTags;

use crate::support::*;

fn whole(balancer: &Balancer, key: &str) -> Decision {
    let request = PickRequest::new().with_key(key);
    balancer.pick(&request).expect("an owner")
}

/// `None` where a whole pick is needed.
fn alone(balancer: &Balancer, request: &PickRequest<'_>) -> Option<Owner> {
    let owner = balancer.read(|current| current.owner(request));
    owner.expect("a view")
}

fn owner_of(balancer: &Balancer, key: &str) -> Owner {
    alone(balancer, &PickRequest::new().with_key(key)).expect("an owner")
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
            let is_plain = expected.is_panic() || balancer.status().ejected == 0;
            let Some(owner) = alone(&balancer, &PickRequest::new().with_key(&key)) else {
                prop_assert!(!is_plain, "it was looked for in vain");
                return Ok(());
            };
            prop_assert!(is_plain);
            prop_assert_eq!(owner.instance().id(), expected.instance().id());
            prop_assert_eq!(owner.choice(), expected.choice());
            prop_assert_eq!(owner.behind().is_any(), expected.candidates().len() > 1);
            let decision = balancer.behind(owner.behind(), owner.candidate());
            let decision = decision.expect("a view");
            prop_assert_eq!(ids(&decision), ids(&expected));
            prop_assert_eq!(decision.last_resorts(), expected.last_resorts());
            prop_assert_eq!(decision.is_panic(), expected.is_panic());
            prop_assert_eq!(decision.pool(), expected.pool());
            prop_assert_eq!(decision.choice(), expected.choice());
            Ok(())
        })?;
    }
}

#[tokio::test(start_paused = true)]
async fn what_more_is_to_be_heeded_is_left_to_a_pick() {
    let registry = registry((0..4).map(instance));
    let balancer = balancer(&registry, attempts(3)).await;
    let request = PickRequest::new().with_key("k");
    let picks = balancer.status().counters.picks;
    assert!(owner_of(&balancer, "k").behind().is_any());
    assert_eq!(balancer.status().counters.picks, picks + 1);
    let one = alone(&balancer, &request.with_max_candidates(1));
    assert!(!one.expect("an owner").behind().is_any());

    let tags = RequestTags::new();
    let long = "k".repeat(balancer.config().max_key_len() + 1);
    for request in [
        request.with_tags(&tags),
        PickRequest::new(),
        PickRequest::new().with_key(&long),
    ] {
        assert!(alone(&balancer, &request).is_none(), "{request:?}");
    }
    assert_eq!(
        balancer.status().counters.picks,
        picks + 2,
        "what was not found is not counted"
    );
}

#[tokio::test(start_paused = true)]
async fn an_attempt_at_an_owner_is_one_like_any() {
    let registry = registry((0..4).map(instance));
    let balancer = balancer(&registry, attempts(3)).await;
    let owner = owner_of(&balancer, "k");
    let id = owner.instance().id().clone();
    let attempt = owner.begin();
    assert_eq!(attempt.node().in_flight(), 1);
    assert_eq!(attempt.candidate().instance().id(), &id);
    assert_eq!(whole(&balancer, "k").first().in_flight(), 1);
    drop(attempt);
    assert_eq!(whole(&balancer, "k").first().in_flight(), 0);
    assert_eq!(whole(&balancer, "k").first().node().requests(), 1);
}

#[tokio::test(start_paused = true)]
async fn who_has_left_meanwhile_is_not_among_the_others() {
    let registry = registry((0..4).map(instance));
    let balancer = balancer(&registry, attempts(3)).await;
    let before = ids(&whole(&balancer, "k"));
    let owner = owner_of(&balancer, "k");
    registry.deregister(service(), before[0].as_str());
    registry.deregister(service(), before[1].as_str());
    merged().await;
    let decision = balancer.behind(owner.behind(), owner.candidate());
    let decision = decision.expect("a view");
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
    let owner = owner_of(&balancer, "k");
    for id in [&before[0], &before[2]] {
        fail(&balancer, &key_of(&balancer, id), 5);
    }
    settle().await;
    assert_eq!(balancer.status().ejected, 2);
    let decision = balancer.behind(owner.behind(), owner.candidate());
    let decision = decision.expect("a view");
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
    let owner = owner_of(&balancer, "k");
    balancer.shutdown().await;
    let decision = balancer.behind(owner.behind(), owner.candidate());
    assert!(decision.is_none(), "{decision:?}");
}

use ringfence_core::{InstanceId, Jump, KeyHash};

use crate::fleet::{Fleet, fleet};

const NAMES: [&str; 6] = ["h0:1", "h1:1", "h2:1", "h3:1", "h4:1", "h5:1"];

fn hosts(numbers: &[usize]) -> Vec<(&'static str, u32)> {
    numbers.iter().map(|n| (NAMES[*n], 100)).collect()
}

fn listed(numbers: &[usize]) -> Jump {
    let ids = numbers
        .iter()
        .map(|n| InstanceId::try_new(NAMES[*n]).unwrap());
    Jump::default().with_buckets(ids).expect("legal")
}

fn owners(fleet: &Fleet) -> Vec<String> {
    (0..5_000)
        .map(|n| fleet.owner(format!("user-{n}")).to_owned())
        .collect()
}

/// The vectors of buckets, with the positions of keys given: the instances are the buckets in the order given.
#[test]
fn keys_jump_to_the_reference_buckets() {
    for (key, buckets, bucket) in [
        (0, 1, 0),
        (0, 60, 0),
        (1, 60, 55),
        (256, 1_024, 520),
        (10_863_919_174_838_991, 11, 6),
        (2_016_238_256_797_177_309, 11, 3),
        (0xDEAD_BEEF, 100, 87),
    ] {
        // Listed from the last id to the first, so that places and buckets differ.
        let names: Vec<String> = (0..buckets).rev().map(|n| format!("h{n:04}:1")).collect();
        let hosts: Vec<_> = names.iter().map(|name| (name.as_str(), 100)).collect();
        let fleet = fleet(&hosts, Jump::default());
        let owner = fleet.ring.owner(KeyHash::from_raw(key)).expect("an owner");
        assert_eq!(fleet.id(owner), names[bucket], "{key} of {buckets}");
    }
}

#[test]
fn an_instance_at_the_end_takes_its_share_and_moves_nothing_else() {
    let before = owners(&fleet(&hosts(&[0, 1, 2, 3]), Jump::default()));
    let after = owners(&fleet(&hosts(&[0, 1, 2, 3, 4]), Jump::default()));
    let moved: Vec<_> = before.iter().zip(&after).filter(|(a, b)| a != b).collect();
    assert!(moved.iter().all(|(_, to)| *to == "h4:1"));
    assert!((900..1_100).contains(&moved.len()), "{}", moved.len());
}

#[test]
fn an_instance_that_left_its_bucket_loses_its_own_keys_alone() {
    let list = listed(&[3, 1, 0, 2]);
    let before = owners(&fleet(&hosts(&[0, 1, 2, 3]), list.clone()));
    let after = owners(&fleet(&hosts(&[0, 2, 3]), list));
    let mut took = [0; 6];
    for (from, to) in before.iter().zip(&after).filter(|(a, b)| a != b) {
        assert_eq!(from, "h1:1");
        took[NAMES.iter().position(|name| name == to).unwrap()] += 1;
    }
    assert!(
        [0, 2, 3].iter().all(|n| (350..490).contains(&took[*n])),
        "{took:?}"
    );
}

/// One that no bucket names gets what others refuse alone; drained ones keep their buckets.
#[test]
fn buckets_of_nobody_are_shared_by_all() {
    let stranger = fleet(&hosts(&[0, 1, 5]), listed(&[0, 1, 2, 3]));
    let shares = stranger.shares(8_000);
    assert!(
        shares[2] > 1_100 && shares[2] < 1_600,
        "half of the keys by thirds: {shares:?}"
    );
    let mut drained = hosts(&[0, 1, 2, 3]);
    let whole = owners(&fleet(&drained, Jump::default()));
    drained[1].1 = 0;
    let after = owners(&fleet(&drained, Jump::default()));
    let moved = whole.iter().zip(&after).filter(|(a, b)| a != b);
    assert!(moved.clone().count() > 1_000);
    assert!(moved.into_iter().all(|(from, _)| from == "h1:1"));
}

#[test]
fn a_list_is_checked() {
    let id = |id| InstanceId::try_new(id).unwrap();
    assert!(Jump::default().with_buckets([]).is_err());
    assert!(
        Jump::default()
            .with_buckets([id("a"), id("b"), id("a")])
            .is_err()
    );
}

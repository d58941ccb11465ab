use std::sync::Arc;

use ringfence_core::{
    EnvoyRing, HashAlgorithm, Instance, Jump, Ketama, KeyHash, Maglev, Nginx, Pool, RingConfig,
    RingDiff, Selector, Slots, Snapshot,
};

use super::{
    shares::{MIN_SAMPLE, SAMPLE},
    slices::{OWNERS, SLICES},
    *,
};

fn ring(weights: &[u32], config: &RingConfig) -> Ring {
    let instances = weights.iter().enumerate().map(|(i, weight)| {
        let built = Instance::builder(
            format!("i-{i:03}"),
            format!("10.0.{}.{}:80", i / 250, i % 250 + 1),
        );
        built.weight(*weight).build().expect("legal")
    });
    let snapshot = Arc::new(Snapshot::new(instances));
    Ring::build(&Pool::select(&snapshot, &Selector::any()), config)
}

fn sum(document: &RingDocument) -> f64 {
    document.members.iter().map(|member| member.share).sum()
}

#[test]
fn the_shares_are_those_of_a_million_keys() {
    let config = RingConfig::default();
    let ring = ring(&[100, 50, 200, 0], &config);
    let document = RingDocument::of(&ring);
    assert!((sum(&document) - 1.0).abs() < 1e-9);
    let mut owned = [0u32; 4];
    let keys = 200_000u64;
    for key in 0..keys {
        let owner = ring
            .owner(config.hash_key(&key.to_le_bytes()))
            .expect("some");
        owned[owner as usize] += 1;
    }
    for (member, owned) in document.members.iter().zip(owned) {
        let counted = f64::from(owned) / keys as f64;
        assert!(
            (member.share - counted).abs() < 0.005,
            "{member:?}: {counted}"
        );
    }
    assert_eq!(document.members[3].share, 0.0);
}

#[test]
fn a_slice_tells_who_owns_the_keys_in_it() {
    let config = RingConfig::default();
    let ring = ring(&[100; 3], &config);
    let document = RingDocument::of(&ring);
    assert_eq!(document.slices.len(), SLICES);
    for (place, slice) in document.slices.iter().enumerate() {
        let total: u32 = slice.iter().map(|(_, permille)| permille).sum();
        assert!((996..=1004).contains(&total), "{place}: {slice:?}");
        // The middle of the slice is owned by one that is told.
        let middle = (place as u128 * 2 + 1) * (1 << 64) / (2 * SLICES as u128);
        let hash = KeyHash::from_raw(u64::try_from(middle).expect("in the space"));
        let owner = ring.owner(hash).expect("some") as usize;
        assert!(
            slice.iter().any(|(told, _)| *told == owner),
            "{place}: {slice:?} lacks {owner}"
        );
    }
}

#[test]
fn every_algorithm_has_shares() {
    let slices = |algorithm: HashAlgorithm| {
        let ring = ring(&[100; 5], &RingConfig::default().with_algorithm(algorithm));
        let document = RingDocument::of(&ring);
        assert!((sum(&document) - 1.0).abs() < 1e-6, "{document:?}");
        assert!(
            document.members.iter().all(|member| member.share > 0.02),
            "{document:?}"
        );
        document.slices.len()
    };
    assert_eq!(slices(HashAlgorithm::Ring), SLICES);
    assert_eq!(slices(EnvoyRing::default().into()), SLICES);
    assert_eq!(slices(Maglev::default().into()), SLICES);
    assert_eq!(slices(Nginx::default().into()), SLICES);
    assert_eq!(slices(Ketama::default().into()), SLICES);
    assert_eq!(slices(Slots::default().into()), SLICES);
    assert_eq!(slices(Jump::default().into()), 0);
    assert_eq!(slices(HashAlgorithm::Rendezvous), 0);
}

#[test]
fn many_instances_make_no_large_document() {
    let document = RingDocument::of(&ring(&[100; MAX_INSTANCES + 200], &RingConfig::default()));
    assert!(document.truncated);
    assert_eq!(document.members.len(), MAX_INSTANCES);
    assert!(document.slices.iter().all(|slice| slice.len() <= OWNERS));
    let text = serde_json::to_string(&document).expect("it can be written");
    assert!(text.len() < 250_000, "{}", text.len());
}

/// A score is worked out for each instance at each look-up, on the thread of the program's own requests.
#[test]
fn a_sample_is_smaller_where_its_keys_cost_more() {
    let sample = |count: usize, config: &RingConfig| {
        let document = RingDocument::of(&ring(&vec![100; count], config));
        assert!(
            (document.members.iter().map(|m| m.share).sum::<f64>() - 1.0).abs() < 1e-6
                || document.truncated
        );
        document.sample
    };
    let rendezvous = RingConfig::default().with_algorithm(HashAlgorithm::Rendezvous);
    assert_eq!(sample(5, &rendezvous), Some(SAMPLE));
    assert_eq!(sample(1_024, &rendezvous), Some(1_024));
    assert_eq!(sample(8_192, &rendezvous), Some(MIN_SAMPLE));
    let jump = RingConfig::default().with_algorithm(Jump::default());
    assert_eq!(sample(100, &jump), Some(SAMPLE));
    assert_eq!(sample(5, &RingConfig::default()), None);
}

#[test]
fn nobody_and_one() {
    let none = RingDocument::of(&ring(&[], &RingConfig::default()));
    assert!(none.members.is_empty() && none.slices.is_empty());
    let one = RingDocument::of(&ring(&[100], &RingConfig::default()));
    assert_eq!(one.members[0].share, 1.0);
    assert!(one.slices.iter().all(|slice| *slice == [(0, 1000)]));
}

#[test]
fn the_shares_agree_with_what_a_join_moves() {
    let config = RingConfig::default();
    let (before, after) = (ring(&[100; 3], &config), ring(&[100; 4], &config));
    let moved = RingDiff::share_between(&before, &after)
        .expect("it has ranges")
        .as_f64();
    let newcomer = RingDocument::of(&after).members[3].share;
    assert!((moved - newcomer).abs() < 1e-9, "{moved} {newcomer}");
}

//! Who is in a percentage.

use super::*;

/// The share of keys that are in, which of them, and what a policy at a percentage says of a key.
fn is_in(name: &str, percent: f64, key: &str) -> bool {
    let policy = compiled(&format!(
        "gray: {{ {name}: {{ to: {{ version: v2 }}, percent: {percent} }} }}\nrules: [{{ name: a, gray: [{name}] }}]"
    ));
    evaluate(&policy, &keyed(key)).gray.is_some()
}

#[test]
fn the_share_is_what_it_says() {
    let policy = compiled(
        "gray: { r: { to: { version: v2 }, percent: 5 } }\nrules: [{ name: a, gray: [r] }]",
    );
    let keys = (0..100_000).map(|i| keyed(&format!("user-{i}")));
    let gray = keys
        .filter(|request| evaluate(&policy, request).gray.is_some())
        .count();
    assert!((4_700..=5_300).contains(&gray), "{gray} of 100,000 for 5 %");
}

#[test]
fn who_is_in_is_a_format() {
    let first = (0..).find(|i| is_in("checkout-v2", 5.0, &format!("user-{i}")));
    let hash = |i: u32| {
        let seed = xxh3_64_with_seed(b"checkout-v2", 0x6772_6179);
        u128::from(xxh3_64_with_seed(format!("user-{i}").as_bytes(), seed)) * 100 < (5 << 64)
    };
    assert_eq!(first, (0..).find(|i| hash(*i)));
}

#[test]
fn releases_choose_independently() {
    let both = (0..2_000).filter(|i| {
        let key = format!("user-{i}");
        is_in("one", 30.0, &key) && is_in("other", 30.0, &key)
    });
    let both = both.count();
    assert!((110..=250).contains(&both), "{both} of 2,000 for 9 %");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn whoever_is_in_stays_in_while_the_share_rises(key in "\\PC{1,20}", mut shares in prop::collection::vec(0u16..=10_000, 2..8)) {
        shares.sort_unstable();
        let mut was_in = false;
        for share in shares {
            let is_in = is_in("r", f64::from(share) / 100.0, &key);
            prop_assert!(is_in || !was_in, "fell out at {share}");
            prop_assert_eq!(is_in, self::is_in("r", f64::from(share) / 100.0, &key), "it is sticky");
            was_in = is_in;
        }
    }
}

use super::super::Spill;

const KEYS: u32 = 100_000;

fn leaving(share: u16, place: usize) -> Vec<bool> {
    (0..KEYS)
        .map(|key| Spill::takes(share, place, format!("user-{key}").as_bytes()))
        .collect()
}

#[test]
fn the_share_is_what_the_rest_cannot_carry_or_more() {
    let spill = Spill::default();
    // (usable, registered, share) at 140 %
    for (usable, registered, share) in [
        (10, 10, 0),
        (8, 10, 0),
        (715, 1_000, 0),
        (714, 1_000, 1),
        (7, 10, 20),
        (5, 10, 300),
        (1, 10, 860),
        (0, 10, 1_000),
        (0, 0, 1_000),
        (u64::MAX, u64::MAX, 0),
    ] {
        assert_eq!(
            spill.share(usable, registered),
            share,
            "{usable} of {registered}"
        );
    }
    let always = spill.with_permille(250).expect("legal");
    assert_eq!(
        [always.share(10, 10), always.share(5, 10)],
        [250, 300],
        "the higher of both"
    );
    let exact = spill.with_overprovisioning_factor(100).expect("legal");
    assert_eq!(exact.share(9, 10), 100);
    assert!(spill.with_permille(1_001).is_err());
    assert!(spill.with_overprovisioning_factor(99).is_err());
}

#[test]
fn the_share_is_exact_and_only_grows() {
    let mut before = leaving(0, 0);
    assert!(!before.contains(&true));
    for share in [1, 50, 100, 300, 500, 900, 999, 1_000] {
        let now = leaving(share, 0);
        let left = now.iter().filter(|left| **left).count();
        let ideal = KEYS as usize * usize::from(share) / 1_000;
        assert!(
            left.abs_diff(ideal) <= KEYS as usize / 100,
            "{left} of {KEYS} at {share} permille"
        );
        assert!(
            before.iter().zip(&now).all(|(before, now)| now >= before),
            "who left stays away at {share} permille"
        );
        before = now;
    }
    assert!(!before.contains(&false));
}

#[test]
fn stages_pass_on_keys_independently() {
    let both = leaving(500, 0)
        .iter()
        .zip(leaving(500, 1))
        .filter(|(one, other)| **one && *other)
        .count();
    assert!(
        both.abs_diff(KEYS as usize / 4) < KEYS as usize / 100,
        "{both}"
    );
}

/// A format: other clients compute the same.
#[test]
fn which_keys_leave_is_a_format() {
    let first: Vec<u32> = (0..200)
        .filter(|key| Spill::takes(50, 0, format!("user-{key}").as_bytes()))
        .collect();
    assert_eq!(first, [14, 25, 56, 66, 83, 111, 113, 146, 154, 164, 174]);
}

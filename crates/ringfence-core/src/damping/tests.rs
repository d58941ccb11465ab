#![expect(
    clippy::disallowed_methods,
    reason = "tests need some time to start from"
)]

use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::{FlapDamper, FlapDampingConfig, FlapMember};

/// A fleet whose instances are told by letters: upper case serves, lower case does not, and what is left out is away.
struct Fleet {
    damper: FlapDamper<char>,
    start: Instant,
}

impl Fleet {
    fn new() -> Self {
        Self {
            damper: FlapDamper::new(FlapDampingConfig::default()),
            start: Instant::now(),
        }
    }

    /// Those that are withheld at this second.
    fn at(&mut self, second: f64, fleet: &str, floor: u8) -> String {
        let keys: Vec<char> = fleet.chars().map(|c| c.to_ascii_uppercase()).collect();
        let members: Vec<_> = keys
            .iter()
            .zip(fleet.chars())
            .map(|(key, c)| FlapMember {
                key,
                serves: c.is_ascii_uppercase(),
                takes_traffic: true,
                usable: c.is_ascii_uppercase(),
            })
            .collect();
        let now = self.start + Duration::from_secs_f64(second);
        let mut withheld: Vec<char> = self
            .damper
            .update(&members, floor, now)
            .into_iter()
            .filter_map(|place| keys.get(place).copied())
            .collect();
        withheld.sort_unstable();
        withheld.into_iter().collect()
    }
}

#[test]
fn one_that_returns_waits_and_a_new_one_does_not() {
    for away in ["aBCD", "BCD"] {
        let mut fleet = Fleet::new();
        assert_eq!(fleet.at(0.0, "ABCD", 50), "");
        assert_eq!(fleet.at(1.0, away, 50), "");
        assert_eq!(fleet.at(2.0, "ABCDE", 50), "A", "E is new");
        assert_eq!(
            fleet.damper.deadline(),
            Some(fleet.start + Duration::from_secs(7))
        );
        assert_eq!(fleet.at(6.9, "ABCDE", 50), "A");
        assert_eq!(fleet.at(7.0, "ABCDE", 50), "");
        assert_eq!((fleet.damper.deadline(), fleet.damper.flaps()), (None, 1));
    }
}

#[test]
fn the_first_health_of_an_instance_is_no_return() {
    let mut fleet = Fleet::new();
    assert_eq!(fleet.at(0.0, "aBC", 50), "");
    assert_eq!(fleet.at(1.0, "ABC", 50), "");
}

/// 1,000 for each flap, halved every 15 s: the third in a row is above 2,000, and 750 is reached in
/// `15 s * log2(penalty / 750)` (RFC 2439).
#[test]
fn one_that_flaps_is_suppressed_until_its_penalty_has_fallen() {
    let mut fleet = Fleet::new();
    for flap in 0..3 {
        let second = f64::from(flap);
        fleet.at(second, "ABCD", 50);
        fleet.at(second + 0.5, "BCD", 50);
    }
    let penalty = [0.0, 1.0, 2.0].map(|ago: f64| 1_000.0 * (-ago / 15.0).exp2());
    let reuse = 2.5 + 15.0 * (penalty.iter().sum::<f64>() / 750.0).log2();
    assert!(reuse > 7.5 + 15.0, "longer than the stable time: {reuse}");
    assert_eq!(fleet.at(3.0, "ABCD", 50), "A");
    assert_eq!(fleet.damper.suppressed(), 1);
    assert_eq!(fleet.at(reuse - 0.01, "ABCD", 50), "A");
    assert_eq!(fleet.at(reuse + 0.01, "ABCD", 50), "");
    assert_eq!(fleet.damper.suppressed(), 0);
}

#[test]
fn however_often_it_flapped_it_is_used_a_minute_after_the_last_time() {
    let mut fleet = Fleet::new();
    for flap in 0..1_000 {
        let second = f64::from(flap);
        let withheld = fleet.at(second, "ABCD", 50);
        assert_eq!(withheld, if flap < 1 { "" } else { "A" }, "{flap}");
        fleet.at(second + 0.5, "aBCD", 50);
    }
    let last = 999.5;
    fleet.at(last + 0.5, "ABCD", 50);
    assert_eq!(fleet.at(last + 59.9, "ABCD", 50), "A");
    assert_eq!(fleet.at(last + 60.1, "ABCD", 50), "");
}

#[test]
fn the_least_penalised_are_let_in_where_too_few_are_left() {
    let mut fleet = Fleet::new();
    fleet.at(0.0, "ABCD", 50);
    // A flaps twice, B, C and D once.
    fleet.at(1.0, "aBCD", 50);
    fleet.at(2.0, "ABCD", 50);
    fleet.at(3.0, "abcd", 50);
    assert_eq!(fleet.at(4.0, "ABCD", 0), "ACD", "the last one stays");
    assert_eq!(fleet.at(4.0, "ABCD", 50), "AD");
    assert_eq!(fleet.at(4.0, "ABCD", 51), "A");
    assert_eq!(fleet.at(4.0, "ABCD", 75), "A");
    assert_eq!(fleet.at(4.0, "ABCD", 100), "");
    assert_eq!(fleet.at(4.0, "AbcD", 50), "", "two of four are needed");
}

#[test]
fn departed_ones_are_remembered_up_to_a_number_and_an_hour() {
    let mut damper = FlapDamper::new(FlapDampingConfig::default());
    let start = Instant::now();
    for n in 0..3_000_u32 {
        let now = start + Duration::from_millis(u64::from(n));
        let member = FlapMember {
            key: &n,
            serves: true,
            takes_traffic: true,
            usable: true,
        };
        assert!(damper.update(&[member], 50, now).is_empty());
    }
    assert_eq!(damper.remembered(), 1_025, "and the one that is there");
    assert!(
        damper
            .update(&[], 50, start + Duration::from_secs(3))
            .is_empty()
    );
    let later = start + Duration::from_secs(3 + 3_600);
    assert!(damper.update(&[], 50, later).is_empty());
    assert_eq!(damper.remembered(), 0);
}

proptest! {
    /// Whoever flaps and however fast: the floor is kept at every step, and all are in some time after the end.
    #[test]
    fn the_floor_is_kept_and_it_ends(
        steps in prop::collection::vec((0_u64..20_000, any::<u16>(), any::<u16>()), 1..60),
        size in 1_usize..16,
        floor in 0_u8..=100,
    ) {
        let mut damper = FlapDamper::new(FlapDampingConfig::default());
        let keys: Vec<usize> = (0..size).collect();
        let mut now = Instant::now();
        let mut step = |up: u16, there: u16, now: Instant| {
            let members: Vec<_> = keys
                .iter()
                .filter(|key| there >> **key & 1 == 1)
                .map(|key| {
                    let up = up >> key & 1 == 1;
                    FlapMember { key, serves: up, takes_traffic: true, usable: up }
                })
                .collect();
            let withheld = damper.update(&members, floor, now);
            (members.len(), members.iter().filter(|m| m.usable).count(), withheld.len())
        };
        for (wait, up, there) in steps {
            now += Duration::from_millis(wait);
            let (total, usable, withheld) = step(up, there, now);
            let needed = (total * usize::from(floor)).div_ceil(100).max(1).min(usable);
            prop_assert!(usable - withheld >= needed, "{total} {usable} {withheld}");
        }
        step(u16::MAX, u16::MAX, now);
        let (_, usable, withheld) = step(u16::MAX, u16::MAX, now + Duration::from_secs(66));
        prop_assert_eq!((usable, withheld), (size, 0));
    }
}

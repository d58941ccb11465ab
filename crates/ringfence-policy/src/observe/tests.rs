use super::*;

fn observed<'a>(
    key: Option<&'a str>,
    epoch: u64,
    actual: Option<&'a str>,
    suggested: Option<&'a str>,
) -> Observed<'a> {
    Observed {
        key: key.map(str::as_bytes),
        epoch,
        actual,
        suggested,
    }
}

#[test]
fn agreement_and_shares() {
    let mut comparison = Comparison::new(10).expect("legal");
    comparison.record(observed(Some("k"), 1, Some("a"), Some("a")));
    comparison.record(observed(Some("k"), 1, Some("b"), Some("a")));
    comparison.record(observed(None, 1, Some("b"), None));
    comparison.record(observed(None, 1, None, Some("a")));
    let report = comparison.report();
    assert_eq!(
        (
            report.requests,
            report.keyless,
            report.compared,
            report.agreed,
            report.unknown
        ),
        (4, 2, 2, 1, 1)
    );
    assert_eq!(report.agreement_permille(), 500);
    assert_eq!(
        report.shares["a"],
        InstanceShare {
            actual: 1,
            suggested: 3
        }
    );
    assert_eq!(
        report.shares["b"],
        InstanceShare {
            actual: 2,
            suggested: 0
        }
    );
    let text = report.to_string();
    assert!(
        text.contains("both choose the same for 50.0 % of 2"),
        "{text}"
    );
    assert!(text.contains("a: 1 now, 3 with the policy"), "{text}");
}

#[test]
fn affinity_is_warmer_than_round_robin() {
    let instances = ["a", "b", "c", "d"];
    let mut comparison = Comparison::new(100).expect("legal");
    for i in 0..4_000_usize {
        let key = format!("user-{}", (i * 7) % 300);
        let owner = instances[(i * 7) % 300 % 4];
        // One turn too many each round, so that a key does not meet the same instance every time.
        let turn = instances[(i + i / 300) % 4];
        comparison.record(observed(Some(&key), 1, Some(turn), Some(owner)));
    }
    let report = comparison.report();
    assert_eq!(
        (report.actual_hits.asked, report.suggested_hits.asked),
        (4_000, 4_000)
    );
    assert_eq!(
        report.suggested_hits.hits,
        4_000 - 300,
        "each key is cold once"
    );
    assert!(report.actual_hits.permille() < 100, "{report}");
}

#[test]
fn movement_is_counted_between_views_only() {
    let mut comparison = Comparison::new(10).expect("legal");
    for (epoch, owner) in [(1, "a"), (1, "b"), (2, "b"), (3, "a"), (3, "a"), (4, "a")] {
        comparison.record(observed(Some("k"), epoch, None, Some(owner)));
    }
    let report = comparison.report();
    assert_eq!((report.returned, report.moved), (3, 1));
}

#[test]
fn memory_is_bounded() {
    assert!(Comparison::new(0).is_err() && Comparison::new(MAX_KEYS + 1).is_err());
    let mut comparison = Comparison::new(50_000).expect("legal");
    for i in 0..MAX_OWNERS + 1_000 {
        let instance = format!("i-{}", i % (MAX_INSTANCES + 10));
        comparison.record(observed(
            Some(&format!("k-{i}")),
            1,
            Some(&instance),
            Some(&instance),
        ));
    }
    assert_eq!(comparison.owners.len(), MAX_OWNERS);
    assert_eq!(
        (
            comparison.actual_caches.len(),
            comparison.suggested_caches.len()
        ),
        (4, 4)
    );
    let report = comparison.report();
    assert_eq!(report.shares.len(), MAX_INSTANCES);
    assert!(report.uncounted > 0 && report.actual_hits.asked < 100);
}

#[test]
fn a_report_of_nothing_shows_no_shares() {
    let mut comparison = Comparison::new(10).expect("legal");
    let text = comparison.report().to_string();
    assert!(text.starts_with("nothing observed"), "{text}");
    assert!(!text.contains('%'), "{text}");
    comparison.record(observed(None, 1, None, None));
    let text = comparison.report().to_string();
    assert!(text.starts_with("1 requests, 1 without a key"), "{text}");
    assert!(!text.contains('%'), "nothing was compared: {text}");
}

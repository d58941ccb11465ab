//! `ringfence plan`

use serde_json::Value;

use crate::support::*;

fn plan(folder: &Folder, args: &str) -> (Option<i32>, Value) {
    let ran = folder.run(&format!("plan --instances fleet.yaml --format json {args}"));
    let plan = serde_json::from_str(&ran.out).expect("JSON");
    (ran.code, plan)
}

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

#[test]
fn a_plan_for_people_is_golden() {
    let folder = Folder::new();
    folder.write("fleet.yaml", orders(&[(1, 100), (2, 50), (3, 200), (4, 0)]));
    let out = folder.run("plan --instances fleet.yaml").done();
    // How long it took is another each time.
    let lines = out.lines().filter(|line| !line.starts_with("build time "));
    let told: String = lines.map(|line| format!("{line}\n")).collect();
    assert_eq!(told, golden("plan.txt"));
}

#[test]
fn shares_are_exact_and_those_of_the_rows_are_the_whole() {
    let folder = Folder::new();
    folder.write("fleet.yaml", orders(&[(1, 100), (2, 50), (3, 200), (4, 0)]));
    let (code, plan) = plan(&folder, "");
    assert_eq!(
        (code, plan["shares"].as_str(), plan["points"].as_u64()),
        (Some(0), Some("exact"), Some(560))
    );
    let rows = plan["instances"].as_array().expect("rows");
    let sum = |name: &str| rows.iter().map(|row| number(&row[name])).sum::<f64>();
    assert!((sum("share") - 1.0).abs() < 1e-9 && (sum("expected") - 1.0).abs() < 1e-9);
    assert_eq!(
        (number(&rows[3]["share"]), &rows[3]["relative"]),
        (0.0, &Value::Null)
    );

    // What is said of the whole follows from the rows.
    let relative: Vec<f64> = rows
        .iter()
        .filter_map(|row| row["relative"].as_f64())
        .collect();
    let largest = relative.iter().copied().fold(0.0, f64::max);
    let variance = relative.iter().map(|r| (r - 1.0).powi(2)).sum::<f64>() / 3.0;
    assert!((number(&plan["max_over_mean"]) - largest).abs() < 1e-12);
    assert!((number(&plan["cv"]) - variance.sqrt()).abs() < 1e-12);

    // The counted shares of many keys are near the exact ones.
    let keys: String = (0..20_000).map(|n| format!("key {n}\n")).collect();
    folder.write("keys.txt", keys);
    let routed = folder
        .run("route --instances fleet.yaml --keys keys.txt")
        .done();
    for row in rows {
        let id = row["instance"].as_str().expect("an id");
        let counted = routed
            .lines()
            .filter(|line| line.ends_with(&format!(",{id}")))
            .count();
        let counted = f64::from(u32::try_from(counted).expect("few")) / 20_000.0;
        assert!(
            (number(&row["share"]) - counted).abs() < 0.015,
            "{id}: {counted}"
        );
    }
}

#[test]
fn the_bound_decides_the_exit_code_and_more_points_keep_it() {
    let folder = Folder::with_orders();
    let uneven = |args: &str| {
        let (code, plan) = plan(&folder, args);
        (
            code,
            number(&plan["max_over_mean"]),
            plan["advice"].to_string(),
        )
    };
    let (code, max, advice) = uneven("--imbalance-bound 1.02");
    assert!(max > 1.02, "{max}");
    assert_eq!(code, Some(1));
    assert!(
        advice.contains("more than 1.02; raise points_per_instance, or probes"),
        "{advice}"
    );
    assert_eq!(uneven("--imbalance-bound 1.2").0, Some(0));
    let (code, more_points, _) = uneven("--set points_per_instance=20000 --imbalance-bound 1.02");
    assert_eq!(code, Some(0), "{more_points}");
}

/// Whether the answer fits into one write or not.
#[test]
fn the_verdict_stands_where_nobody_reads_it() {
    let folder = Folder::new();
    let many: Vec<(usize, u32)> = (1..=250).map(|n| (n, 100)).collect();
    for fleet in [orders(&[(1, 100), (2, 100), (3, 100)]), orders(&many)] {
        for format in ["table", "json", "csv"] {
            let unread = |bound: &str| {
                let bound = format!("--imbalance-bound {bound} --format {format}");
                folder.run_unread(&format!("plan --instances - {bound}"), fleet.as_bytes())
            };
            let (uneven, even) = (unread("1.0"), unread("5"));
            assert_eq!((uneven.code, even.code), (Some(1), Some(0)), "{format}");
            assert_eq!((uneven.err, even.err), (String::new(), String::new()));
        }
    }
}

#[test]
fn few_instances_are_told_of_rendezvous() {
    let folder = Folder::with_orders();
    let advice = |folder: &Folder, args: &str| plan(folder, args).1["advice"].to_string();
    assert!(advice(&folder, "").contains("`--algorithm rendezvous` shares more evenly"));
    assert!(!advice(&folder, "--algorithm rendezvous --sample 1000").contains("rendezvous"));
    folder.write(
        "fleet.yaml",
        orders(&[(1, 100), (2, 100), (3, 100), (4, 100)]),
    );
    assert_eq!(advice(&folder, ""), "[]");
    let capped = "--algorithm envoy-ring --set min_ring_size=7 --set max_ring_size=7";
    assert!(advice(&folder, capped).contains("scaled down to max_ring_size,"));
    for capped in ["", "--algorithm nginx", "--algorithm ketama"] {
        let capped = format!("{capped} --set max_ring_points=100");
        let told = advice(&folder, &capped);
        assert!(told.contains("scaled down to max_ring_points,"), "{told}");
    }
    assert!(advice(&folder, "--algorithm envoy-ring").contains("between the others move too"));
    assert!(advice(&folder, "--algorithm jump --sample 1000").contains("order of the file"));
}

/// As `HashAlgorithm`'s documentation has it, for these four instances.
#[test]
fn memory_is_what_the_algorithm_keeps() {
    let folder = Folder::new();
    folder.write("fleet.yaml", orders(&[(1, 100), (2, 50), (3, 200), (4, 0)]));
    for (args, bytes) in [
        ("", 560 * 12),
        ("--algorithm maglev --set table_size=251", 251 * 4),
        ("--algorithm jump", 4 * (8 + 16)),
        (
            "--algorithm jump --set buckets=[order-svc-2,gone]",
            2 * 8 + 4 * 16,
        ),
        ("--algorithm rendezvous", 4 * 16),
        ("--algorithm slots", 4 * (8 + 16)),
        (
            "--algorithm slots --set slots={\"owners\":{\"order-svc-1\":\"0-9,20-29\"}}",
            2 * 8 + 4 * 16,
        ),
    ] {
        let (code, plan) = plan(&folder, &format!("--sample 100 {args}"));
        assert_eq!(code, Some(0), "{args}");
        assert_eq!(plan["memory_bytes_at_most"].as_u64(), Some(bytes), "{args}");
    }
    for (algorithm, each) in [("envoy-ring", 16), ("nginx", 12), ("ketama", 12)] {
        let (_, plan) = plan(&folder, &format!("--algorithm {algorithm}"));
        let points = plan["points"].as_u64().expect("a number");
        assert!(points > 100, "{points}");
        let bytes = plan["memory_bytes_at_most"].as_u64();
        assert_eq!(bytes, Some(points * each), "{algorithm}");
    }
}

#[test]
fn only_scores_and_jumps_are_counted_over_a_sample() {
    let folder = Folder::with_orders();
    for (algorithm, shares) in [
        ("ring", "exact"),
        ("envoy-ring", "exact"),
        ("maglev", "exact"),
        ("nginx", "exact"),
        ("ketama", "exact"),
        ("jump", "sample"),
        ("rendezvous", "sample"),
        ("slots", "exact"),
    ] {
        let (_, plan) = plan(&folder, &format!("--sample 100 --algorithm {algorithm}"));
        assert_eq!(plan["shares"], shares, "{algorithm}");
    }
}

#[test]
fn csv_has_the_instances() {
    let folder = Folder::with_orders();
    let out = folder
        .run("plan --instances fleet.yaml --format csv")
        .done();
    let mut lines = out.lines();
    assert_eq!(
        lines.next(),
        Some("instance,weight,points,share,expected,relative")
    );
    assert!(lines.all(|line| line.starts_with("order-svc-") && line.split(',').count() == 6));
}

//! `ringfence lint`

use std::collections::BTreeSet;

use ringfence_balancer::BalancerConfig;
use serde_json::Value;

use crate::support::*;

#[test]
fn findings_are_golden_in_every_form() {
    let folder = Folder::new();
    folder.write("policy.yaml", POLICY);
    folder.write("wrong.yaml", POLICY.replace("percent", "precent"));
    folder.write(
        "balancer.yaml",
        "outlier:\n  base_ejection_time: 10m\nupdate_merge_window: 5s\n",
    );
    folder.write("fleet.yaml", "services:\n  cart:\n    - { id: a, address: h:80, weight: 0 }\n    - { id: b, address: h }\n");
    for (format, name) in [
        ("table", "lint.txt"),
        ("json", "lint.json"),
        ("csv", "lint.csv"),
    ] {
        let args = format!(
            "lint --policy policy.yaml --policy wrong.yaml --settings balancer.yaml --instances fleet.yaml --format {format}"
        );
        let ran = folder.run(&args);
        assert_eq!((ran.code, &*ran.err), (Some(1), ""));
        assert_eq!(ran.out, golden(name), "{format}");
    }
}

#[test]
fn warnings_fail_only_where_they_are_denied() {
    let folder = Folder::new();
    folder.write("policy.yaml", POLICY);
    let lint = "lint --policy policy.yaml";
    assert!(folder.run(lint).done().contains("warning RF-P103"));
    folder.write(
        "local.yaml",
        "ringfence: 1\nrules: [{ name: a, pools: [{ require: { zone: local } }] }]\n",
    );
    let told = folder.run("lint --policy local.yaml").done();
    assert!(
        told.contains("warning RF-P103") && told.contains("rule `a` serves nobody"),
        "{told}"
    );
    let here = folder.run("lint --policy local.yaml --zone az-1").done();
    assert!(here.contains("nothing was found"), "{here}");
    assert_eq!(folder.run(&format!("{lint} --deny warnings")).code, Some(1));
    let clean = folder
        .run(&format!("{lint} --zone az-1 --deny warnings"))
        .done();
    assert_eq!(clean, "nothing was found\n");
    assert_eq!(
        folder.run("lint").code,
        Some(2),
        "it is told nothing to look at"
    );
    assert_eq!(folder.run("lint --policy nowhere.yaml").code, Some(2));
}

#[test]
fn wrong_settings_have_their_line_and_the_nearest_name() {
    let folder = Folder::new();
    let lint = |text: &str| {
        folder.write("s.yaml", text);
        let ran = folder.run("lint --settings s.yaml");
        assert_eq!(ran.code, Some(1), "{text}");
        ran.out
    };
    for (text, told) in [
        (
            "\nmax_atempts: 3\n",
            "s.yaml:2: error RF-C001: max_atempts: there is no such setting, did you mean `max_attempts`?",
        ),
        (
            "max_attempts: 0\n",
            "s.yaml:1: error RF-C001: max_attempts: max_attempts is 0, ",
        ),
        (
            "watch:\n  stale_after: 30\n",
            "s.yaml:2: error RF-C001: watch.stale_after: `30` has no unit",
        ),
        (
            "ring: { algorithm: maglev, table_size: 8 }\n",
            "s.yaml:1: error RF-C001: ring.table_size: ",
        ),
        (
            "ring: { probes: 2, algorithm: maglev }\n",
            "s.yaml:1: error RF-C001: ring.probes: ",
        ),
        (
            "watch: { backoff_base: 1h }\n",
            "s.yaml:1: error RF-C001: watch.backoff_",
        ),
        ("a: [\n", "error RF-C001"),
    ] {
        let out = lint(text);
        assert!(out.contains(told), "{text}: {out}");
    }
}

/// Each finding that a balancer can have is one of a file too, and the settings of the list are all taken.
#[test]
fn every_finding_of_a_balancer_can_be_found() {
    let folder = Folder::new();
    let cases = [
        ("RF-C103", "health_check: { interval: 20s, fall: 3 }"),
        ("RF-C104", "max_merge_delay: 60s"),
        ("RF-C106", "outlier: { base_ejection_time: 10m }"),
        ("RF-C107", "update_merge_window: 5s"),
        ("RF-C108", "retry_budget: { percent: 0, min_per_second: 0 }"),
        (
            "RF-C109",
            "{ panic_threshold: 0, outlier: { max_ejection_percent: 100 } }",
        ),
        ("RF-C110", "watch: { backoff_max: 30s }"),
        ("RF-C111", "watch: { fetch_timeout: 10s }"),
        (
            "RF-C112",
            "watch: { resync_interval: 1s, fetch_timeout: 2s }",
        ),
        (
            "RF-C113",
            "{ ready_timeout: 100ms, watch: { backoff_base: 500ms } }",
        ),
        (
            "RF-C114",
            "ring: { points_per_instance: 60000, max_ring_points: 100000 }",
        ),
        ("RF-C115", "concurrency: { max_queued: 5 }"),
    ];
    for (code, text) in cases {
        folder.write("s.yaml", text);
        let ran = folder.run("lint --settings s.yaml --format json");
        let found: Value = serde_json::from_str(&ran.out).expect("JSON");
        let codes: Vec<&str> = found
            .as_array()
            .expect("a list")
            .iter()
            .filter_map(|f| f["code"].as_str())
            .collect();
        assert!(codes.contains(&code), "{text}: {codes:?}");
    }
    let told: BTreeSet<&str> = cases.iter().map(|(code, _)| *code).collect();
    let all: BTreeSet<&str> = BalancerConfig::finding_codes().into_iter().collect();
    let untold: Vec<_> = all.difference(&told).collect();
    // A file's ring cannot have settings of another algorithm: they are refused.
    assert_eq!(untold, [&"RF-C116"]);

    let list = folder.run("lint --list").done();
    let settings = list
        .lines()
        .skip(1)
        .filter_map(|line| line.split_once("  "));
    let settings = settings.filter(|(name, _)| !name.starts_with("ring."));
    let lines = settings
        .map(|(name, value)| (name, value.trim()))
        .filter(|(_, value)| *value != "off");
    let text: String = lines
        .map(|(name, value)| format!("{name}: {value}\n"))
        .collect();
    // Times of copies need a folder for them.
    let text = format!("{text}watch.disk_snapshots.dir: copies\n");
    folder.write("s.yaml", &text);
    // Health checks are on with any of their settings, and 30 s are what they take to notice.
    assert_eq!(
        folder.run("lint --settings s.yaml --deny warnings").done(),
        "nothing was found\n",
        "{text}"
    );
}

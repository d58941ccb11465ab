//! That `ringfence lint --settings` knows each setting that the configurations have.

use std::{collections::BTreeSet, fmt::Debug};

use ringfence::{
    BalancerConfig, DiskSnapshots, FailurePercentageConfig, FlapDampingConfig, HealthCheckConfig,
    OutlierConfig, RingConfig, SuccessRateConfig, WatchConfig,
};

use crate::support::*;

/// Everything that can be on is.
fn everything() -> BalancerConfig {
    let outlier = OutlierConfig::default()
        .with_success_rate(SuccessRateConfig::default())
        .with_failure_percentage(FailurePercentageConfig::default());
    let watch = WatchConfig::default()
        .with_seed(1)
        .with_disk_snapshots(DiskSnapshots::new("copies"));
    let config = BalancerConfig::default()
        .with_watch(watch)
        .with_outlier(outlier)
        .with_flap_damping(FlapDampingConfig::default());
    config.with_hash_balance_factor(125).expect("legal")
}

/// The fields that a configuration shows, which are those that its setters set, with the names that lead to them.
fn fields(config: &dyn Debug) -> BTreeSet<String> {
    let text = format!("{config:#?}");
    let mut path = Vec::new();
    let mut found = BTreeSet::new();
    for line in text.lines().skip(1).map(str::trim) {
        let (name, value) = line.split_once(": ").unwrap_or(("", line));
        let value = value.trim_end_matches(',');
        // Those of the rules of routing are none of a file.
        let is_on = value != "None" || path.contains(&"routing");
        assert!(is_on, "{line}: switch it on in this test");
        if ["}", ")", "]"].contains(&value) {
            path.pop();
            continue;
        }
        path.push(name);
        if !value.ends_with(['{', '(', '[']) {
            let names = path.iter().copied().filter(|name| !name.is_empty());
            found.insert(names.collect::<Vec<_>>().join("."));
            path.pop();
        }
    }
    found
}

fn listed(folder: &Folder) -> BTreeSet<String> {
    let list = folder.run("lint --list").done();
    let names = list.lines().skip(1).filter_map(|l| l.split_once("  "));
    names.map(|(name, _)| name.to_owned()).collect()
}

#[test]
fn each_setting_of_the_configurations_is_one_of_a_file() {
    let listed = listed(&Folder::new());
    let checks = fields(&HealthCheckConfig::default()).into_iter();
    let checks = checks.map(|name| format!("health_check.{name}"));
    let settings = fields(&everything()).into_iter().chain(checks);
    // Folders of the code that say nothing to users.
    let settings = settings.map(|name| name.replace("view.", "").replace("sample.", ""));
    let settings: BTreeSet<String> = settings
        // The rules of routing are made in code or by a policy; rings are tested below.
        .filter(|name| !name.starts_with("routing.") && !name.starts_with("ring."))
        .collect();
    assert!(settings.len() > 60, "{settings:?}");
    let unknown: Vec<_> = settings.difference(&listed).collect();
    assert!(unknown.is_empty(), "not in `lint --list`: {unknown:?}");
}

#[test]
fn each_setting_of_a_ring_is_one_of_a_file() {
    let folder = Folder::new();
    let fields = fields(&RingConfig::default());
    assert!(fields.len() >= 5, "{fields:?}");
    for name in fields {
        folder.write("s.yaml", format!("ring: {{ {name}: wrong }}\n"));
        let told = folder.run("lint --settings s.yaml").out;
        let is_known = ["unknown word `wrong`", "expected a whole number"];
        assert!(
            is_known.iter().any(|known| told.contains(known)),
            "{name}: {told}"
        );
    }
}

/// What has a setter `without_…`, or one that takes nothing at all, is `off` in a file; what is a section of its own can be `on` too.
#[test]
fn what_can_be_switched_is_switched() {
    let folder = Folder::new();
    let lint = |text: &str| {
        folder.write("s.yaml", text);
        folder.run("lint --settings s.yaml").out
    };
    for name in [
        "watch.empty_hold",
        "watch.max_loss_percent",
        "watch.resync_interval",
        "watch.stale_after",
        "hash_balance_factor",
    ] {
        assert_eq!(lint(&format!("{name}: off\n")), "nothing was found\n");
    }
    for section in [
        "flap_damping",
        "hot_keys",
        "health_check",
        "outlier.success_rate",
        "outlier.failure_percentage",
    ] {
        for value in ["on", "off", "true", "false"] {
            assert_eq!(
                lint(&format!("{section}: {value}\n")),
                "nothing was found\n"
            );
        }
        assert!(lint(&format!("{section}: maybe\n")).contains("`maybe` is neither on nor off"));
    }
    assert!(
        lint("hot_keys: off\nhot_keys.counters: 16\n")
            .contains("s.yaml:2: error RF-C001: hot_keys.counters: hot_keys is off"),
    );
    // A hold that is off has nothing to say about the time of a read.
    assert!(lint("watch: { fetch_timeout: 10s }\n").contains("RF-C111"));
    let off = lint("watch: { fetch_timeout: 10s, stale_after: off }\n");
    assert!(!off.contains("RF-C111"), "{off}");
}

#[test]
fn what_sets_nothing_is_told() {
    let folder = Folder::new();
    for (text, told) in [
        (
            "watch:\n",
            "s.yaml:1: error RF-C001: watch: the section is empty",
        ),
        (
            "a: 1\nwatch: {}\n",
            "s.yaml:2: error RF-C001: watch: the section is empty",
        ),
        (
            "hot_keys: {}\n",
            "hot_keys: the section is empty: write `hot_keys: on`",
        ),
        (
            "wach: {}\n",
            "wach: there is no such setting, did you mean `watch`?",
        ),
        (
            "watch: { backof: {} }\n",
            "watch.backof: there is no such setting",
        ),
        (
            "max_attempts:\n",
            "s.yaml:1: error RF-C001: max_attempts: it has no value",
        ),
        ("max_attempts: {}\n", "max_attempts: it has no value"),
        (
            "ring:\n",
            "s.yaml:1: error RF-C001: ring: the section is empty",
        ),
        ("watch: 3s\n", "watch: it is a section"),
        (
            "watch: { stale_after: 30s }\nwatch.stale_after: 20s\n",
            "s.yaml:2: error RF-C001: watch.stale_after: it is set in line 1 already",
        ),
        (
            "max_attempts: 3\nmax_attempts: 4\n",
            "s.yaml:2: error RF-C001: max_attempts: it is set in line 1 already",
        ),
        (
            "watch:\n  stale_after: 30s\n  stale_after: 20s\n",
            "s.yaml:3: error RF-C001: watch.stale_after: it is set in line 2 already",
        ),
        (
            "ring: { algorithm: slots, slots: { owners: { a: 0-8191, a: 8192-16383 } } }\n",
            "twice",
        ),
        (
            "panic_threshold: many\n",
            "panic_threshold: `many` is no whole number, allowed is 0..=100",
        ),
        ("- max_attempts\n", "expected settings"),
        ("", "s.yaml: error RF-C001: the file sets nothing"),
        (
            "# max_attempts: 3\n",
            "s.yaml: error RF-C001: the file sets nothing",
        ),
        ("{}\n", "s.yaml: error RF-C001: the file sets nothing"),
    ] {
        folder.write("s.yaml", text);
        let ran = folder.run("lint --settings s.yaml");
        assert_eq!(ran.code, Some(1), "{text}: {}", ran.out);
        assert!(ran.out.contains(told), "{text}: {}", ran.out);
    }
}

#[test]
fn words_are_those_of_a_policy_and_their_faults_name_them() {
    let folder = Folder::new();
    let lint = |text: &str| {
        folder.write("s.yaml", text);
        folder.run("lint --settings s.yaml").out
    };
    for word in ["p2c", "least_request", "round_robin", "random", "reject"] {
        assert_eq!(
            lint(&format!("missing_key: {word}\n")),
            "nothing was found\n"
        );
    }
    assert!(lint("missing_key: round-robin\n").contains("did you mean `round_robin`?"));
    assert!(
        lint("start_policy: eager\n").contains("there is: wait, use_disk_snapshot, lazy, fail")
    );
    assert!(lint("outlier: { always_eject_one: 1 }\n").contains("`1` is neither true nor false"));
    assert!(
        lint("start_policy: use_disk_snapshot\n")
            .contains("s.yaml:1: error RF-C001: start_policy: disk_snapshots is none")
    );
    let copies = "watch: { disk_snapshots: { dir: /var/lib/shop } }\n";
    assert_eq!(
        lint(&format!("start_policy: use_disk_snapshot\n{copies}")),
        "nothing was found\n"
    );
    assert!(
        lint("watch: { disk_snapshots: { max_age: 5h } }\n").contains("watch.disk_snapshots.dir")
    );
}

#[test]
fn the_settings_of_the_guide_are_good() {
    let folder = Folder::new();
    let guide = include_str!("../../../ringfence/src/guide/command.md");
    let (_, block) = guide.split_once("```yaml\n").expect("a block");
    let (block, _) = block.split_once("```").expect("its end");
    assert!(block.contains("max_attempts"), "{block}");
    folder.write("s.yaml", block);
    let linted = folder.run("lint --settings s.yaml --deny warnings").done();
    assert_eq!(linted, "nothing was found\n");
}

//! The dashboard, the alerts and the guide to operations speak of the same metrics, and of none that do not exist.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::Command,
};

use ringfence_metrics::families;
use serde_json::Value;

use crate::support::{root, text};

const DASHBOARD: &str = "docker/grafana/dashboards/ringfence.json";
const GUIDE: &str = "crates/ringfence/src/guide/operations.md";

fn dashboard() -> Value {
    serde_json::from_str(&text(DASHBOARD)).unwrap()
}

fn rules() -> Vec<Value> {
    let file: Value = serde_saphyr::from_str(&text("docker/prometheus/rules.yml")).unwrap();
    let groups = file["groups"].as_array().unwrap();
    groups
        .iter()
        .flat_map(|group| group["rules"].as_array().unwrap().clone())
        .collect()
}

/// Names in a text that are, or could be, those of metrics of ours.
fn metrics_in(text: &str) -> BTreeSet<String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "_:".contains(c);
    let words = text.split(|c| !is_part(c));
    words
        .filter(|word| word.starts_with("ringfence_") || word.starts_with("ringfence:"))
        // A path of Rust is none.
        .filter(|word| !word.contains("::"))
        .map(str::to_owned)
        .collect()
}

/// Every query of the dashboard, with where it is.
fn queries() -> Vec<(String, String)> {
    let dashboard = dashboard();
    let mut queries = Vec::new();
    for panel in dashboard["panels"].as_array().unwrap() {
        let title = panel["title"].as_str().unwrap();
        let targets = panel["targets"].as_array().into_iter().flatten();
        for target in targets {
            queries.push((
                title.to_owned(),
                target["expr"].as_str().unwrap().to_owned(),
            ));
        }
    }
    for variable in dashboard["templating"]["list"].as_array().unwrap() {
        let name = format!("variable {}", variable["name"].as_str().unwrap());
        let query = variable["query"]["query"].as_str().unwrap();
        queries.push((name, query.to_owned()));
    }
    queries
}

/// Names as a series has them, for a name that the guide or the exposition has.
fn family(series: &str) -> &str {
    let histogram = ["_bucket", "_sum", "_count"];
    histogram
        .iter()
        .find_map(|ending| series.strip_suffix(ending))
        .unwrap_or(series)
}

#[test]
fn the_dashboard_is_one_that_grafana_takes() {
    let dashboard = dashboard();
    assert_eq!(dashboard["uid"], "ringfence");
    let panels = dashboard["panels"].as_array().unwrap();
    let mut ids = BTreeSet::new();
    let mut places: BTreeMap<(u64, u64), &str> = BTreeMap::new();
    let mut drawn = 0;
    for panel in panels {
        let title = panel["title"].as_str().unwrap();
        assert!(ids.insert(panel["id"].as_u64().unwrap()), "{title}");
        let at = |name: &str| panel["gridPos"][name].as_u64().unwrap();
        assert!(at("x") + at("w") <= 24, "{title}");
        for y in at("y")..at("y") + at("h") {
            for x in at("x")..at("x") + at("w") {
                let before = places.insert((x, y), title);
                assert!(before.is_none(), "{title} lies on {before:?}");
            }
        }
        if panel["type"] == "row" {
            continue;
        }
        drawn += 1;
        assert_eq!(panel["datasource"]["uid"], "prometheus", "{title}");
        assert!(
            !panel["description"].as_str().unwrap().is_empty(),
            "{title}"
        );
        let mut letters = BTreeSet::new();
        for target in panel["targets"].as_array().unwrap() {
            assert!(letters.insert(target["refId"].as_str().unwrap()), "{title}");
        }
    }
    assert!(drawn > 20, "{drawn}");
    let repeats = panels.iter().filter_map(|panel| panel["repeat"].as_str());
    assert_eq!(repeats.collect::<Vec<_>>(), ["target"]);
    // A variable that a query names, the dashboard has.
    let list = dashboard["templating"]["list"].as_array().unwrap();
    let variables: BTreeSet<_> = list.iter().map(|it| it["name"].as_str().unwrap()).collect();
    for (title, query) in queries() {
        for (at, _) in query.match_indices('$') {
            let name = query[at + 1..].split(|c: char| !(c.is_alphanumeric() || c == '_'));
            let name = name.clone().next().unwrap();
            assert!(
                variables.contains(name) || name == "__rate_interval",
                "{title}: ${name}"
            );
        }
    }
}

#[test]
fn dashboard_alerts_and_guide_name_the_metrics_that_there_are() {
    let known: BTreeSet<&str> = families().map(|family| family.name).collect();
    let rules = rules();
    let recorded: BTreeSet<&str> = rules
        .iter()
        .filter_map(|rule| rule["record"].as_str())
        .collect();
    let mut drawn = BTreeSet::new();
    for (title, query) in queries() {
        let named = metrics_in(&query);
        assert!(!named.is_empty(), "{title}: {query}");
        for series in named {
            assert!(known.contains(family(&series)), "{title}: {series}");
            drawn.insert(family(&series).to_owned());
        }
    }
    assert!(drawn.len() > 20, "{drawn:?}");
    for rule in &rules {
        let query = rule["expr"].as_str().unwrap();
        let named = metrics_in(query);
        assert!(!named.is_empty(), "{query}");
        for series in named {
            let is_known = known.contains(family(&series)) || recorded.contains(series.as_str());
            assert!(is_known, "{query}: {series}");
        }
    }
    let guide = text(GUIDE);
    for series in metrics_in(&guide) {
        assert!(known.contains(series.as_str()), "the guide: {series}");
    }
    for name in known {
        assert!(
            guide.contains(&format!("`{name}`")),
            "the guide lacks {name}"
        );
    }
    // Labels that queries choose by are those that the metrics have.
    for (title, query) in queries() {
        for series in metrics_in(&query) {
            let labels = families()
                .find(|it| it.name == family(&series))
                .unwrap()
                .labels;
            let (_, rest) = query.split_once(series.as_str()).unwrap();
            let Some((chosen, _)) = rest.strip_prefix('{').and_then(|rest| rest.split_once('}'))
            else {
                continue;
            };
            for label in chosen
                .split(", ")
                .map(|one| one.split(['=', '!']).next().unwrap())
            {
                // Prometheus has its own `instance`, and calls that of a metric otherwise.
                let own = label == "instance"
                    || label == "exported_instance" && labels.contains(&"instance");
                assert!(
                    own || labels.contains(&label),
                    "{title}: {series} has no {label}"
                );
            }
        }
    }
}

#[test]
fn what_provisioning_names_is_mounted() {
    let compose: Value = serde_saphyr::from_str(&text("docker-compose.yml")).unwrap();
    let grafana = &compose["services"]["grafana"];
    let mounts: Vec<_> = grafana["volumes"].as_array().unwrap().iter().collect();
    let mounted = |path: &str| {
        let target = format!(":{path}:ro");
        mounts
            .iter()
            .any(|mount| mount.as_str().unwrap().ends_with(&target))
    };
    let providers: Value = serde_saphyr::from_str(&text(
        "docker/grafana/provisioning/dashboards/ringfence.yml",
    ))
    .unwrap();
    let folder = providers["providers"][0]["options"]["path"]
        .as_str()
        .unwrap();
    assert!(mounted(folder), "{folder}");
    assert!(mounted("/etc/grafana/provisioning"));
    let home = grafana["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"].as_str();
    assert_eq!(home.unwrap(), format!("{folder}/ringfence.json"));
    let sources: Value = serde_saphyr::from_str(&text(
        "docker/grafana/provisioning/datasources/prometheus.yml",
    ))
    .unwrap();
    let source = &sources["datasources"][0];
    assert_eq!(source["uid"], "prometheus");
    assert_eq!(source["url"], "http://prometheus:9090");
    let prometheus = compose["services"]["prometheus"]["volumes"].to_string();
    let configuration = text("docker/prometheus/prometheus.yml");
    for path in [
        "/etc/prometheus/prometheus.yml",
        "/etc/prometheus/rules.yml",
    ] {
        assert!(prometheus.contains(&format!(":{path}:ro")), "{path}");
    }
    assert!(configuration.contains("/etc/prometheus/rules.yml"));
}

#[test]
fn the_admin_of_grafana_has_a_password_that_nobody_wrote_down() {
    let compose: Value = serde_saphyr::from_str(&text("docker-compose.yml")).unwrap();
    let environment = &compose["services"]["grafana"]["environment"];
    assert_eq!(
        environment["GF_SECURITY_ADMIN_PASSWORD__FILE"],
        "/credentials/grafana-admin"
    );
    assert_eq!(environment["GF_AUTH_ANONYMOUS_ORG_ROLE"], "Viewer");

    let seed = root().join("tests/registries/seed/grafana");
    let seeded = |credentials: &Path| {
        let ran = Command::new("sh")
            .arg(&seed)
            .arg("http://grafana:3000")
            .arg(credentials)
            .status();
        assert!(ran.unwrap().success());
        fs::read_to_string(credentials.join("grafana-admin")).unwrap()
    };
    let folder = tempfile::tempdir().unwrap();
    let credentials = folder.path().join("credentials");
    let first = seeded(&credentials);
    assert!(first.trim_end().len() >= 32, "{} characters", first.len());
    assert_eq!(first, seeded(&credentials), "it is made once");
    assert_ne!(first, seeded(&folder.path().join("others")), "and drawn");
    let permissions = fs::metadata(credentials.join("grafana-admin")).unwrap();
    let mode = permissions.permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn every_alert_is_explained_and_every_explanation_has_an_alert() {
    let guide = text(GUIDE);
    let (_, alerts) = guide.split_once("\n# Alerts\n").unwrap();
    let (alerts, _) = alerts.split_once("\n# ").unwrap();
    let explained: Vec<_> = alerts
        .lines()
        .filter_map(|line| line.strip_prefix("## "))
        .collect();
    let rules = rules();
    let fired: Vec<_> = rules
        .iter()
        .filter_map(|rule| rule["alert"].as_str())
        .collect();
    assert_eq!(explained, fired, "in one order");
    for rule in &rules {
        let Some(name) = rule["alert"].as_str() else {
            continue;
        };
        let severity = rule["labels"]["severity"].as_str().unwrap();
        let (_, section) = alerts.split_once(&format!("## {name}\n\n*")).unwrap();
        assert!(
            section.to_lowercase().starts_with(&format!("{severity}.*")),
            "{name} is a {severity}"
        );
        assert!(rule["annotations"]["summary"].as_str().is_some(), "{name}");
    }
}

#[test]
fn promtool_takes_the_configuration() {
    let folder = tempfile::tempdir().unwrap();
    let rules = folder.path().join("rules.yml");
    fs::copy(root().join("docker/prometheus/rules.yml"), &rules).unwrap();
    let configuration = text("docker/prometheus/prometheus.yml")
        .replace("/etc/prometheus/rules.yml", rules.to_str().unwrap());
    let file = folder.path().join("prometheus.yml");
    fs::write(&file, configuration).unwrap();
    let checked = Command::new("promtool")
        .args(["check", "config"])
        .arg(&file)
        .output()
        .expect("promtool is missing: `apt-get install prometheus` brings it, as tests/run does");
    assert!(
        checked.status.success(),
        "{}{}",
        String::from_utf8_lossy(&checked.stdout),
        String::from_utf8_lossy(&checked.stderr)
    );
}

/// Each alert fires in trouble, and none does without.
#[test]
fn alerts_fire_when_they_should() {
    let tests = text("docker/prometheus/rules_test.yml");
    for rule in rules() {
        if let Some(name) = rule["alert"].as_str() {
            assert!(tests.contains(&format!("alertname=\"{name}\"")), "{name}");
        }
    }
    let tested = Command::new("promtool")
        .args(["test", "rules"])
        .arg(root().join("docker/prometheus/rules_test.yml"))
        .output()
        .expect("promtool is missing: `apt-get install prometheus` brings it, as tests/run does");
    assert!(
        tested.status.success(),
        "{}{}",
        String::from_utf8_lossy(&tested.stdout),
        String::from_utf8_lossy(&tested.stderr)
    );
}

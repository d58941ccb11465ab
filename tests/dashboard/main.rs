//! Every panel of the dashboard has data while the example `metrics` runs: a real Prometheus reads it, by the configuration of
//! `docker-compose.yml`, and is asked each query.
//!
//! `tests/run` runs it alone. It needs the program `prometheus`, and takes a minute.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "all of it is tests"
)]

mod processes;
mod prometheus;

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::{processes::Example, prometheus::Prometheus};

/// A round of the example's faults, with some reads after it.
const WATCHED: Duration = Duration::from_secs(35);

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .to_owned()
}

fn text(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Every query of the dashboard by its panel, with its variables as they are at first: all of everything.
fn queries() -> Vec<(String, String)> {
    let dashboard: Value =
        serde_json::from_str(&text("docker/grafana/dashboards/ringfence.json")).unwrap();
    let mut queries = Vec::new();
    for panel in dashboard["panels"].as_array().unwrap() {
        let title = panel["title"].as_str().unwrap();
        for target in panel["targets"].as_array().into_iter().flatten() {
            let query = target["expr"].as_str().unwrap();
            // Four reads, as Grafana has it.
            let query = query.replace("$__rate_interval", "4s");
            let query = ["$service", "$client", "$target"]
                .iter()
                .fold(query, |query, variable| query.replace(variable, ".*"));
            assert!(!query.contains('$'), "{title}: {query}");
            queries.push((title.to_owned(), query));
        }
    }
    assert!(queries.len() > 25, "{}", queries.len());
    queries
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_panel_has_data_while_the_example_runs() {
    let example = Example::start("metrics", &["--port", "0", "--seconds", "240"]);
    let address = example.line("metrics on http://").await;
    let address = address.strip_suffix("/metrics").unwrap();
    let prometheus = Prometheus::start(
        &text("docker/prometheus/prometheus.yml"),
        &text("docker/prometheus/rules.yml"),
        address,
    )
    .await;

    let begun = Instant::now();
    let mut empty: BTreeSet<(String, String)> = queries().into_iter().collect();
    let mut flat = moving();
    let mut seen = 0;
    while begun.elapsed() < WATCHED || !(empty.is_empty() && flat.is_empty()) {
        assert!(
            begun.elapsed() < 4 * WATCHED,
            "no data: {empty:#?}; never above 0: {flat:?}"
        );
        tokio::time::sleep(Duration::from_secs(1)).await;
        let mut filled = Vec::new();
        for query in &empty {
            if !prometheus.query(&query.1).await.is_empty() {
                filled.push(query.clone());
            }
        }
        for query in filled {
            empty.remove(&query);
            seen += 1;
        }
        let mut moved = Vec::new();
        for query in &flat {
            let values = prometheus.query(query).await;
            if values.iter().any(|value| *value > 0.0) {
                moved.push(*query);
            }
        }
        for query in moved {
            flat.remove(query);
        }
    }
    println!(
        "{seen} queries of the dashboard gave data within {:?}",
        begun.elapsed()
    );

    // The alerts are evaluated, and each of their metrics is there.
    let rules = prometheus.rules().await;
    assert!(rules.len() > 12, "{}", rules.len());
    for (name, health, error) in rules {
        assert_eq!(health, "ok", "{name}: {error}");
    }
}

/// What the faults of the example must show, and not only as zeros.
fn moving() -> BTreeSet<&'static str> {
    BTreeSet::from([
        r#"ringfence_requests_total{outcome="success"}"#,
        r#"ringfence_requests_total{outcome="failed_response"}"#,
        r#"ringfence_requests_total{outcome="no_instances"}"#,
        r#"ringfence_attempt_failures_total{kind="connect"}"#,
        r#"ringfence_attempt_failures_total{kind="status"}"#,
        r#"ringfence_hops_total{outcome="granted"}"#,
        r#"ringfence_hops_total{outcome="denied"}"#,
        r#"ringfence_hops_total{outcome="free"}"#,
        r#"ringfence_fallbacks_total{reason="stage"}"#,
        r#"ringfence_fallbacks_total{reason="spill"}"#,
        r#"ringfence_fallbacks_total{reason="overflow"}"#,
        r#"ringfence_picks_failed_total{reason="no_instances"}"#,
        r#"ringfence_ejections_total{cause="consecutive_failures"}"#,
        r#"ringfence_ring_instances{state="ejected"}"#,
        r#"ringfence_registry_errors_total{kind="malformed"}"#,
        r#"ringfence_snapshots_held_total{reason="empty"}"#,
        "ringfence_holding",
        "ringfence_ring_moved_ratio_total",
        "ringfence_hot_keys",
        "ringfence_in_flight",
        "ringfence_skew_ratio",
    ])
}

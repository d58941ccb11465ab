//! Every metric is there, under its name and with its labels.

use std::collections::BTreeSet;

use ringfence_balancer::CallOutcome;
use ringfence_metrics::{Kind, Metrics, families};

use crate::support::*;

/// A text with everything in it.
pub(crate) async fn full() -> String {
    let metrics = Metrics::new().with_instances(10).with_aliases();
    let (registry, balancer) = fleet(&metrics).await;
    for n in 0..4_000 {
        call(&balancer, &format!("k{n}"), CallOutcome::Success);
    }
    tokio::time::sleep(std::time::Duration::from_secs(2)).await;
    registry.register("order", instance(7));
    settle().await;
    metrics.render()
}

#[tokio::test(start_paused = true)]
async fn each_family_is_exposed_as_it_is_described() {
    let text = full().await;
    for family in families() {
        let kind = match family.kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
            _ => panic!("of a later version"),
        };
        let name = family.name;
        assert!(
            text.contains(&format!("# HELP {name} {}\n", family.help)),
            "{name}: {text}"
        );
        assert!(text.contains(&format!("# TYPE {name} {kind}\n")), "{name}");
        let suffix = if family.kind == Kind::Histogram {
            "_count{"
        } else {
            "{"
        };
        let line = text
            .lines()
            .find(|line| line.starts_with(&format!("{name}{suffix}")));
        let line = line.unwrap_or_else(|| panic!("{name} has no series: {text}"));
        let labels = line.split(['{', '}']).nth(1).expect("labels");
        let labels: BTreeSet<_> = labels
            .split(',')
            .filter_map(|label| label.split('=').next())
            .collect();
        assert_eq!(labels, family.labels.iter().copied().collect(), "{name}");
    }
    let typed = text
        .lines()
        .filter(|line| line.starts_with("# TYPE"))
        .count();
    assert_eq!(
        typed,
        families().count(),
        "nothing is exposed that is not described"
    );
}

#[tokio::test(start_paused = true)]
async fn what_is_optional_is_not_there_unasked() {
    let metrics = Metrics::new();
    let (_registry, balancer) = fleet(&metrics).await;
    call(&balancer, "k", CallOutcome::Success);
    let text = metrics.render();
    for family in families().filter(|family| family.optional) {
        assert!(
            !text.contains(&format!("# TYPE {} ", family.name)),
            "{}",
            family.name
        );
    }
}

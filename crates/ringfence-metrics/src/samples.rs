use std::collections::BTreeMap;

use prometheus::{CounterVec, GaugeVec, Opts, core::Collector, proto::MetricFamily};

use crate::families::{Family, Kind};

/// Values that were read, by family and labels.
#[derive(Debug, Default)]
pub(crate) struct Samples {
    of: BTreeMap<&'static str, (Family, BTreeMap<Vec<String>, f64>)>,
}

impl Samples {
    /// A value. Counters of the same labels add up, of gauges the last one stays.
    pub(crate) fn set(&mut self, family: Family, labels: &[&str], value: f64) {
        let (_, values) = self
            .of
            .entry(family.name)
            .or_insert((family, BTreeMap::new()));
        let labels = labels.iter().map(ToString::to_string).collect();
        let slot = values.entry(labels).or_default();
        match family.kind {
            Kind::Counter => *slot += value,
            Kind::Gauge | Kind::Histogram => *slot = value,
        }
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "Prometheus has no other numbers"
    )]
    pub(crate) fn count(&mut self, family: Family, labels: &[&str], value: u64) {
        self.set(family, labels, value as f64);
    }

    /// A number of things that rises and falls; those of several balancers of one service add up.
    #[expect(
        clippy::cast_precision_loss,
        reason = "Prometheus has no other numbers"
    )]
    pub(crate) fn add(&mut self, family: Family, labels: &[&str], value: u64) {
        let labels_owned: Vec<String> = labels.iter().map(ToString::to_string).collect();
        let before = self
            .of
            .get(family.name)
            .and_then(|(_, values)| values.get(&labels_owned));
        let sum = before.copied().unwrap_or_default() + value as f64;
        self.set(family, labels, sum);
    }

    /// For a scrape. Families without a value are left out, as the format wants it.
    pub(crate) fn collect(self) -> Vec<MetricFamily> {
        let mut families = Vec::new();
        for (family, values) in self.of.into_values() {
            let opts = Opts::new(family.name, family.help);
            let made = match family.kind {
                Kind::Counter => CounterVec::new(opts, family.labels).map(|vector| {
                    for (labels, value) in &values {
                        let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
                        vector.with_label_values(&labels).inc_by(*value);
                    }
                    vector.collect()
                }),
                Kind::Gauge | Kind::Histogram => GaugeVec::new(opts, family.labels).map(|vector| {
                    for (labels, value) in &values {
                        let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
                        vector.with_label_values(&labels).set(*value);
                    }
                    vector.collect()
                }),
            };
            // Names of ours are legal, as a test of them all shows.
            families.extend(made.unwrap_or_default());
        }
        families
    }
}

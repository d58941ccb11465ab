use std::collections::BTreeMap;

use prometheus::{CounterVec, GaugeVec, Opts, core::Collector, proto::MetricFamily};

use crate::families::{Family, Kind};

/// Values that were read, by family and labels.
#[derive(Clone, Debug, Default)]
pub(crate) struct Samples {
    of: BTreeMap<&'static str, (Family, BTreeMap<Vec<String>, f64>)>,
}

impl Samples {
    pub(crate) fn set(&mut self, family: Family, labels: &[&str], value: f64) {
        let labels = labels.iter().map(ToString::to_string).collect();
        *self.slot(family, labels) = value;
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "Prometheus has no other numbers"
    )]
    pub(crate) fn count(&mut self, family: Family, labels: &[&str], value: u64) {
        self.set(family, labels, value as f64);
    }

    fn slot(&mut self, family: Family, labels: Vec<String>) -> &mut f64 {
        let (_, values) = self
            .of
            .entry(family.name)
            .or_insert((family, BTreeMap::new()));
        values.entry(labels).or_default()
    }

    /// The values of another balancer, which may be of the same service: what is counted adds up, of the rest the other's stay.
    pub(crate) fn merge(&mut self, other: Self) {
        for (family, values) in other.of.into_values() {
            for (labels, value) in values {
                let slot = self.slot(family, labels);
                *slot = if family.adds_up() {
                    *slot + value
                } else {
                    value
                };
            }
        }
    }

    /// What must not fall when its balancer goes: counters, but those of single instances, which go with them.
    pub(crate) fn counters(&self) -> Self {
        let is_lasting =
            |family: &Family| family.kind == Kind::Counter && !family.labels.contains(&"instance");
        let lasting = self.of.iter().filter(|(_, (family, _))| is_lasting(family));
        Self {
            of: lasting.map(|(name, of)| (*name, of.clone())).collect(),
        }
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

use std::{collections::HashMap, fmt, sync::Arc};

use prometheus::{
    core::{Collector, Desc},
    proto::MetricFamily,
};

use crate::{
    families::{ALIASES, ALL, Family, INSTANCES},
    observer::Events,
    reading::{Extent, read},
    samples::Samples,
};

/// All that a scrape asks for.
pub(crate) struct Scraped {
    pub(crate) events: Arc<Events>,
    pub(crate) extent: Extent,
    /// Of what is read, and of calls; events have their own.
    descriptions: Vec<Desc>,
}

impl Scraped {
    pub(crate) fn new(events: Arc<Events>, extent: Extent) -> prometheus::Result<Self> {
        let counted: Vec<String> = events
            .descriptions()
            .iter()
            .map(|desc| desc.fq_name.clone())
            .collect();
        let instances = INSTANCES.iter().filter(|_| extent.instances > 0);
        let aliases = ALIASES.iter().filter(|_| extent.aliases);
        let all = ALL.iter().chain(instances).chain(aliases);
        let read = all.filter(|family| !counted.iter().any(|name| name == family.name));
        Ok(Self {
            descriptions: read.map(description).collect::<prometheus::Result<_>>()?,
            events,
            extent,
        })
    }
}

fn description(family: &Family) -> prometheus::Result<Desc> {
    let labels = family.labels.iter().map(ToString::to_string).collect();
    Desc::new(
        family.name.to_owned(),
        family.help.to_owned(),
        labels,
        HashMap::new(),
    )
}

impl Collector for Scraped {
    fn desc(&self) -> Vec<&Desc> {
        let mut all = self.events.descriptions();
        all.extend(&self.descriptions);
        all
    }

    fn collect(&self) -> Vec<MetricFamily> {
        let mut samples = self.events.read_all(|balancer| {
            let mut samples = Samples::default();
            read(balancer, self.extent, &mut samples);
            samples
        });
        let durations = self.events.calls(&mut samples);
        let mut families = self.events.collect();
        families.extend((!durations.get_metric().is_empty()).then_some(durations));
        families.extend(samples.collect());
        families
    }
}

impl fmt::Debug for Scraped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scraped")
            .field("extent", &self.extent)
            .finish_non_exhaustive()
    }
}

use std::{fmt, sync::Arc};

use prometheus::{Registry, TextEncoder};
use ringfence_balancer::{
    BalancerEvent, CallObserver, Observer, PoolLabel, ServiceKey, WeakBalancer,
};

use crate::{MetricsError, collector::Scraped, observer::Events, reading::Extent};

/// Metrics of any number of balancers; a clone is a handle to the same ones.
///
/// What is measured is chosen before it is handed to balancers: the methods that choose make other metrics, which know nothing of
/// what was counted before.
///
/// Where several balancers of a program have one service, their counters and what they have in flight add up, and the rest is that of the
/// youngest.
///
/// # Examples
/// See the [crate].
#[derive(Clone)]
pub struct Metrics {
    events: Arc<Events>,
    extent: Extent,
    own: Registry,
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// The content type of [`render`](Self::render).
    pub const CONTENT_TYPE: &'static str = prometheus::TEXT_FORMAT;

    /// What is always measured.
    #[must_use]
    pub fn new() -> Self {
        Self::of(Extent::default())
    }

    /// Gives instances series of their own, `ringfence_instance_…`, as long as they are in the list; at most `most` of a service, in the
    /// order of the view. Default 0, none: a large fleet has many.
    #[must_use]
    pub fn with_instances(self, most: usize) -> Self {
        Self::of(Extent {
            instances: most,
            ..self.extent
        })
    }

    /// Adds the names `ring_size`, `skew_ratio` and `migration_duration`, for dashboards that have them; default not.
    #[must_use]
    pub fn with_aliases(self) -> Self {
        Self::of(Extent {
            aliases: true,
            ..self.extent
        })
    }

    fn of(extent: Extent) -> Self {
        let made = || {
            let events = Events::new()?;
            let events = if extent.aliases {
                events.with_aliases()?
            } else {
                events
            };
            let events = Arc::new(events);
            let own = Registry::new();
            own.register(Box::new(Scraped::new(Arc::clone(&events), extent)?))?;
            Ok::<_, prometheus::Error>((events, own))
        };
        match made() {
            Ok((events, own)) => Self {
                events,
                extent,
                own,
            },
            #[expect(clippy::panic, reason = "all names are constants, which tests make")]
            Err(error) => panic!("a metric of ours is none: {error}"),
        }
    }

    /// Adds the metrics to a registry that the program has, in the place of [`render`](Self::render).
    ///
    /// # Errors
    /// [`MetricsError::Registry`] if it has metrics of these names already.
    ///
    /// # Examples
    /// ```
    /// use prometheus::Registry;
    /// use ringfence_metrics::Metrics;
    ///
    /// let registry = Registry::new();
    /// let metrics = Metrics::new().with_instances(100);
    /// metrics.register(&registry)?;
    /// assert!(metrics.register(&registry).is_err());
    /// # Ok::<(), ringfence_metrics::MetricsError>(())
    /// ```
    pub fn register(&self, registry: &Registry) -> Result<(), MetricsError> {
        let scraped = Scraped::new(Arc::clone(&self.events), self.extent)?;
        Ok(registry.register(Box::new(scraped))?)
    }

    /// All metrics as text, in the format of Prometheus; its type is [`CONTENT_TYPE`](Self::CONTENT_TYPE).
    #[must_use]
    pub fn render(&self) -> String {
        let families = self.own.gather();
        // Only families without a metric and illegal names are refused, and there are none of these.
        TextEncoder::new()
            .encode_to_string(&families)
            .unwrap_or_default()
    }
}

impl Observer for Metrics {
    fn started(&self, balancer: &WeakBalancer) {
        self.events.started(balancer);
    }

    fn pool(&self, service: &ServiceKey, pool: &PoolLabel) -> Arc<dyn CallObserver> {
        self.events.pool(service.to_string(), pool)
    }

    fn event(&self, service: &ServiceKey, event: &BalancerEvent<'_>) {
        self.events.event(&service.to_string(), event);
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics")
            .field("extent", &self.extent)
            .finish_non_exhaustive()
    }
}

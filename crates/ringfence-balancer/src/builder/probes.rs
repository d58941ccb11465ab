//! What instances are asked, and what is done with them before their first request.

use std::{sync::Arc, time::Duration};

use ringfence_discovery::Probe;

use crate::{BalancerBuilder, ConfigError, HealthCheckConfig, WarmUp};

impl BalancerBuilder {
    /// Lets a new instance get no requests before it is warm, or for `timeout` (10 ms..=10 min) if that does not succeed; by
    /// default there is nothing to wait for. What makes it warm is any [`Probe`](ringfence_discovery::Probe), or what a connector
    /// offers, such as `TonicConnector::warm_up`, which makes the connections that the requests then use.
    ///
    /// Those that are there when the program starts are not new, and neither is one that was away for at most 30 s. At most 16 are
    /// warmed at a time; the time of an instance runs while it waits for its turn. A [slow start](crate::BalancerConfig::with_slow_start)
    /// begins when it is warm.
    ///
    /// # Errors
    /// [`ConfigError`] if the timeout is out of the range.
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    /// use ringfence_balancer::Balancer;
    /// use ringfence_discovery::{MemoryRegistry, TcpProbe};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let balancer = Balancer::builder(MemoryRegistry::new(), "order")
    ///     .with_warm_up(TcpProbe, Duration::from_secs(5))?
    ///     .build()?;
    /// # let _ = balancer;
    /// # Ok(())
    /// # }
    /// ```
    pub fn with_warm_up(
        mut self,
        warm_up: impl WarmUp,
        timeout: Duration,
    ) -> Result<Self, ConfigError> {
        let range = Duration::from_millis(10)..=Duration::from_secs(600);
        let timeout = ConfigError::check("warm_up_timeout", timeout, range)?;
        self.warm_up = Some((Arc::new(warm_up), timeout));
        Ok(self)
    }

    /// Asks ejected instances whether they serve again; by default nobody is asked.
    ///
    /// Only those are asked that were ejected because they could not be reached, by refused or broken connections: each about every
    /// [`probe_interval`](crate::OutlierConfig::with_probe_interval), at most 16 at a time. One that passes comes back at once, on
    /// trial; one that fails stays out, past the end of its ejection too, so a probe must not ask for more than serving takes.
    /// With the default settings an instance that was restarted has its keys back within 5 s after it listens. Ejections for
    /// other causes last their time.
    ///
    /// # Examples
    /// ```
    /// use ringfence_balancer::Balancer;
    /// use ringfence_discovery::{MemoryRegistry, TcpProbe};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let balancer = Balancer::builder(MemoryRegistry::new(), "order")
    ///     .with_probe(TcpProbe)
    ///     .build()?;
    /// # let _ = balancer;
    /// # Ok(())
    /// # }
    /// ```
    pub fn with_probe(mut self, probe: impl Probe) -> Self {
        self.probe = Some(Arc::new(probe));
        self
    }

    /// Asks each instance that takes traffic from time to time whether it serves, and leaves out those that do not; by default
    /// the word of the registry is enough. It goes on without any request, and needs a probe:
    /// [`TcpProbe`](crate::TcpProbe), those of `ringfence-tower` for gRPC and HTTP, or one of your own.
    ///
    /// An instance that fails its checks comes on top of what the registry says: neither makes up for the other. In panic both
    /// are ignored, see [`BalancerConfig::with_panic_threshold`](crate::BalancerConfig::with_panic_threshold). [`Status`](crate::Status) tells how many fail, and
    /// [`BalancerCounters`](crate::BalancerCounters) how the checks came out.
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    /// use ringfence_balancer::{Balancer, HealthCheckConfig, TcpProbe};
    /// use ringfence_discovery::MemoryRegistry;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let config = HealthCheckConfig::default().with_times(Duration::from_secs(5), Duration::from_secs(1))?;
    /// let balancer = Balancer::builder(MemoryRegistry::new(), "order")
    ///     .with_health_check(TcpProbe, config)
    ///     .build()?;
    /// println!("{} fail their checks", balancer.status().failing_checks);
    /// # Ok(())
    /// # }
    /// ```
    pub fn with_health_check(mut self, probe: impl Probe, config: HealthCheckConfig) -> Self {
        self.health_check = Some((Arc::new(probe), config));
        self
    }

    /// Asks instances themselves when the registry says that all or most of them are gone; by default there is only the hold of
    /// [`WatchConfig::empty_hold`](crate::WatchConfig::empty_hold). See
    /// [`Supervisor::with_loss_probe`](ringfence_discovery::Supervisor::with_loss_probe) for what the answers do.
    pub fn with_loss_probe(mut self, probe: impl Probe) -> Self {
        self.loss_probe = Some(Arc::new(probe));
        self
    }
}

mod probes;

use std::{fmt, sync::Arc, time::Duration};

use ringfence_core::{ConfigFinding, Severity};
use ringfence_discovery::{Discovery, DocumentSource, Probe, ServiceKey, Supervisor};
use ringfence_policy::{AuditSink, Comparison};
use tokio::{
    runtime::Handle,
    sync::{oneshot, watch},
};

use crate::{
    Balancer, BalancerConfig, BuildError, CompiledPolicy, ConfigError, HealthCheckConfig, Observer,
    PolicyContext, StartError, StartPolicy, WarmUp,
    audit::Audit,
    handle::TaskGuard,
    observing::Observing,
    reload::Reloader,
    shared::{Known, Shared},
    task::{Checks, Prober, Task},
    telemetry::Both,
};

/// Makes a [`Balancer`].
#[derive(Debug, Clone)]
#[must_use = "nothing happens before `build`"]
pub struct BalancerBuilder {
    discovery: Arc<dyn Discovery>,
    service: ServiceKey,
    config: BalancerConfig,
    policy: Option<Arc<CompiledPolicy>>,
    audit: Sink,
    observe_cache: usize,
    policy_source: Option<(Arc<dyn DocumentSource>, PolicyContext)>,
    warm_up: Option<(Arc<dyn WarmUp>, Duration)>,
    probe: Option<Arc<dyn Probe>>,
    health_check: Option<(Arc<dyn Probe>, HealthCheckConfig)>,
    loss_probe: Option<Arc<dyn Probe>>,
    observer: ObserverSlot,
}

/// Only to be shown as whether there is one.
#[derive(Clone, Default)]
struct ObserverSlot(Option<Arc<dyn Observer>>);

impl fmt::Debug for ObserverSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0.is_some(), f)
    }
}

/// Only to be shown as whether there is one.
#[derive(Clone, Default)]
struct Sink(Option<Arc<dyn AuditSink>>);

impl fmt::Debug for Sink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0.is_some(), f)
    }
}

impl BalancerBuilder {
    pub(crate) fn new(discovery: Arc<dyn Discovery>, service: ServiceKey) -> Self {
        Self {
            discovery,
            service,
            config: BalancerConfig::default(),
            policy: None,
            audit: Sink::default(),
            observe_cache: Observing::CACHE_SIZE,
            policy_source: None,
            warm_up: None,
            probe: None,
            health_check: None,
            loss_probe: None,
            observer: ObserverSlot::default(),
        }
    }

    /// Replaces the settings; the default is [`BalancerConfig::default`].
    pub fn with_config(mut self, config: BalancerConfig) -> Self {
        self.config = config;
        self
    }

    /// Adds a policy, which [`Balancer::set_policy`] can replace; by default there is none.
    pub fn with_policy(mut self, policy: impl Into<Arc<CompiledPolicy>>) -> Self {
        self.policy = Some(policy.into());
        self
    }

    /// Where it is recorded which requests used a gray or tenant tag, or tried to; default is the log, target
    /// `ringfence::audit`. The sink is called in a task of its own; what comes while 4,096 events wait for it is lost and
    /// counted in [`BalancerCounters::audit_lost`](crate::BalancerCounters::audit_lost).
    ///
    /// # Examples
    /// ```
    /// use std::sync::Arc;
    /// use ringfence_balancer::Balancer;
    /// use ringfence_discovery::MemoryRegistry;
    /// use ringfence_policy::AuditQueue;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let queue = Arc::new(AuditQueue::new(10_000));
    /// let balancer = Balancer::builder(MemoryRegistry::new(), "order")
    ///     .with_audit_sink(Arc::clone(&queue))
    ///     .build()?;
    /// # let _ = balancer;
    /// // From time to time:
    /// for event in queue.take() {
    ///     println!("{event}");
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn with_audit_sink(mut self, sink: impl AuditSink + 'static) -> Self {
        self.audit = Sink(Some(Arc::new(sink)));
        self
    }

    /// Adds somebody who hears what the balancer does, such as the metrics of `ringfence-metrics`; default nobody. All that are added
    /// hear everything, in the order in which they were added.
    ///
    /// # Examples
    /// See [`Observer`].
    pub fn with_observer(mut self, observer: impl Observer) -> Self {
        let observer: Arc<dyn Observer> = Arc::new(observer);
        self.observer.0 = Some(match self.observer.0 {
            Some(first) => Arc::new(Both(first, observer)),
            None => observer,
        });
        self
    }

    /// How many keys an instance is thought to have ready, for the
    /// [comparison](Balancer::observe_report) of observe mode; default 1,000, range 1..=200,000.
    ///
    /// # Errors
    /// [`ConfigError`] out of the range.
    pub fn with_observe_cache(mut self, keys: usize) -> Result<Self, ConfigError> {
        Comparison::new(keys)?;
        self.observe_cache = keys;
        Ok(self)
    }

    /// Takes the policy from a document, and every change of it. The balancer's task watches it, compiles it with `context`
    /// and swaps in what is good, as [`Balancer::set_policy`] does.
    ///
    /// A document that is no policy keeps the one before in force, and so do one that is deleted and a source that fails:
    /// [`Status::policy_source`](crate::Status::policy_source) says which and where the fault is, a warning is logged once.
    /// The first view waits up to 2 s for the source's first word. Without a good document by then, requests are served by
    /// the policy of [`with_policy`](Self::with_policy): give one where having none would be wrong. A policy that is set by
    /// hand is in force until the document changes.
    ///
    /// # Examples
    /// ```
    /// use ringfence_balancer::{Balancer, PolicyContext};
    /// use ringfence_core::Instance;
    /// use ringfence_discovery::{StaticDiscovery, StaticDocument};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let instances = [Instance::builder("a", "10.0.0.1:80").build()?];
    /// let source = StaticDiscovery::new().with_service("order", instances);
    /// // In a program: `FileDocument`, `ConsulKv`, `EtcdKey` or `NacosConfigDocument`.
    /// let policy = StaticDocument::new("{ ringfence: 1, rules: [{ name: all, key: [{ header: x-user }] }] }");
    /// let balancer = Balancer::builder(source, "order")
    ///     .with_policy_source(policy, PolicyContext::new())
    ///     .build()?;
    /// balancer.ready().await?;
    /// assert!(balancer.policy().is_some());
    /// # Ok(())
    /// # }
    /// ```
    pub fn with_policy_source(
        mut self,
        source: impl DocumentSource,
        context: PolicyContext,
    ) -> Self {
        self.policy_source = Some((Arc::new(source), context));
        self
    }

    /// [`build`](Self::build), and waits for the first view, at most [`ready_timeout`](BalancerConfig::ready_timeout): for programs
    /// that do not want to start without one. It is made of the registry's first answer, or of a copy on disk where there is one.
    ///
    /// # Examples
    /// ```
    /// use ringfence_balancer::{Balancer, StartError};
    /// use ringfence_discovery::MemoryRegistry;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// // This registry knows no service at all.
    /// let built = Balancer::builder(MemoryRegistry::new(), "order").build_ready().await;
    /// assert!(matches!(built, Err(StartError::NotReady(_))));
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`StartError::Build`] as [`build`](Self::build), [`StartError::NotReady`] as [`Balancer::ready`]; the balancer is gone then.
    ///
    /// # Cancel safety
    /// Dropping the future ends the balancer.
    pub async fn build_ready(self) -> Result<Balancer, StartError> {
        let balancer = self.build()?;
        let limit = balancer.config().ready_timeout();
        balancer.ready_within(limit).await?;
        Ok(balancer)
    }

    pub(crate) fn config(&self) -> &BalancerConfig {
        &self.config
    }

    pub(crate) fn health_check_config(&self) -> Option<HealthCheckConfig> {
        self.health_check.as_ref().map(|(_, config)| *config)
    }

    /// Starts the balancer's task on the current tokio runtime, which must have its time driver
    /// enabled. Returns at once; the first view comes later, see [`Balancer::ready`].
    ///
    /// # Errors
    /// [`BuildError::NoRuntime`] outside of a tokio runtime; [`BuildError::Config`] where settings cannot work together;
    /// [`BuildError::NoCopies`] for [`StartPolicy::UseDiskSnapshot`] without disk snapshots.
    pub fn build(self) -> Result<Balancer, BuildError> {
        let (findings, health_check) = (self.findings(), self.health_check_config());
        let is_error = |finding: &&ConfigFinding| finding.severity() == Severity::Error;
        let errors: Vec<_> = findings.iter().filter(is_error).cloned().collect();
        if !errors.is_empty() {
            return Err(BuildError::Config(errors));
        }
        for finding in &findings {
            tracing::warn!(service = %self.service, code = finding.code(), "{}", finding.message());
        }
        let runtime = Handle::try_current().map_err(|_| BuildError::NoRuntime)?;
        let mut watch = self.config.watch().clone();
        if self.config.start_policy() == StartPolicy::UseDiskSnapshot {
            watch = watch.with_copy_at_once().map_err(BuildError::NoCopies)?;
        }
        let shared = Arc::new(Shared::new(
            self.service,
            self.config,
            self.policy,
            Audit::new(self.audit.0, runtime.clone()),
            Observing::new(self.observe_cache),
            Known {
                findings,
                health_check,
            },
            self.observer.0,
        ));
        let reloader = self.policy_source.map(|(source, context)| {
            Reloader::new(
                shared.service.clone(),
                source,
                context,
                &watch,
                shared.policies.subscribe(),
            )
        });
        let mut supervisor = Supervisor::new(self.discovery, shared.service.clone(), watch);
        if let Some(probe) = self.loss_probe {
            supervisor = supervisor.with_loss_probe(probe);
        }
        let checks = self
            .health_check
            .map(|(probe, config)| Checks::new(shared.service.clone(), probe, config));
        let (sender, answered) = watch::channel(false);
        let outlier = *shared.config.outlier();
        let prober = self
            .probe
            .map(|probe| Prober::new(shared.service.clone(), probe, outlier));
        let task = Task::new(Arc::clone(&shared), supervisor, reloader, prober, sender)
            .with_warm_up(self.warm_up)
            .with_checks(checks);
        // Observers hear of the begin before anything else.
        let (begin, begun) = oneshot::channel::<()>();
        let run = async move {
            let _ = begun.await;
            task.run().await;
        };
        let task = runtime.spawn(run).abort_handle();
        let balancer = Balancer {
            guard: Arc::new(TaskGuard::new(shared, task, answered)),
        };
        let calls = &balancer.guard.shared.calls;
        calls.started(&balancer.downgrade());
        let _ = begin.send(());
        Ok(balancer)
    }
}

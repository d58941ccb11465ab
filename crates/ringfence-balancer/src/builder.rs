use std::sync::Arc;

use ringfence_discovery::{Discovery, ServiceKey, Supervisor};
use tokio::{runtime::Handle, sync::watch};
use tracing::Instrument;

use crate::{
    Balancer, BalancerConfig, BuildError, CompiledPolicy, handle::TaskGuard, shared::Shared,
    task::Task,
};

/// Makes a [`Balancer`].
#[derive(Debug, Clone)]
#[must_use = "nothing happens before `build`"]
pub struct BalancerBuilder {
    discovery: Arc<dyn Discovery>,
    service: ServiceKey,
    config: BalancerConfig,
    policy: Option<Arc<CompiledPolicy>>,
}

impl BalancerBuilder {
    pub(crate) fn new(discovery: Arc<dyn Discovery>, service: ServiceKey) -> Self {
        Self {
            discovery,
            service,
            config: BalancerConfig::default(),
            policy: None,
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

    /// Starts the balancer's task on the current tokio runtime, which must have its time driver
    /// enabled. Returns at once; the first view comes later, see [`Balancer::ready`].
    ///
    /// # Errors
    /// [`BuildError::NoRuntime`] outside of a tokio runtime.
    pub fn build(self) -> Result<Balancer, BuildError> {
        let runtime = Handle::try_current().map_err(|_| BuildError::NoRuntime)?;
        let watch = self.config.watch().clone();
        let span = tracing::info_span!("balancer", service = %self.service).or_current();
        let supervisor = Supervisor::new(self.discovery, self.service.clone(), watch);
        let shared = Arc::new(Shared::new(self.service, self.config, self.policy));
        let (sender, answered) = watch::channel(false);
        let task = Task::new(Arc::clone(&shared), supervisor, sender);
        let task = runtime.spawn(task.run().instrument(span)).abort_handle();
        Ok(Balancer {
            guard: Arc::new(TaskGuard::new(shared, task, answered)),
        })
    }
}

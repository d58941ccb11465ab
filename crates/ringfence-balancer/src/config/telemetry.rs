//! Settings on what a balancer tells of itself.

use ringfence_core::HotKeysConfig;

use super::BalancerConfig;

impl BalancerConfig {
    /// How keys with many requests are [found](crate::Balancer::hot_keys), by a sample of all picks; on by default, as [`HotKeysConfig::default`].
    #[must_use]
    pub fn with_hot_keys(mut self, config: HotKeysConfig) -> Self {
        self.hot_keys = Some(config);
        self
    }

    /// Counts no keys.
    #[must_use]
    pub fn without_hot_keys(mut self) -> Self {
        self.hot_keys = None;
        self
    }

    /// How keys with many requests are found, if they are.
    #[must_use]
    pub fn hot_keys(&self) -> Option<&HotKeysConfig> {
        self.hot_keys.as_ref()
    }
}

//! Which instances that are not well are left out.

use crate::{BalancerConfig, ConfigError, FlapDampingConfig, OutlierConfig};

impl BalancerConfig {
    /// Ejection of instances that keep failing.
    #[must_use]
    pub fn with_outlier(mut self, outlier: OutlierConfig) -> Self {
        self.outlier = outlier;
        self
    }

    /// Uses instances that were gone, unhealthy or failing their checks only some time after they are back, and later if that
    /// happens often; off by default. Instances that are new are used at once.
    ///
    /// Nobody is kept out so where fewer than [`panic_threshold`](Self::panic_threshold) per cent of the service's instances, or
    /// none, would be left: those that flapped least are used then. Pools are not looked at one by one; one whose members are
    /// nearly all kept out is in panic like any other.
    #[must_use]
    pub fn with_flap_damping(mut self, damping: FlapDampingConfig) -> Self {
        self.flap_damping = Some(damping);
        self
    }

    /// Uses instances as soon as they are back.
    #[must_use]
    pub fn without_flap_damping(mut self) -> Self {
        self.flap_damping = None;
        self
    }

    /// When less than this share of a pool is usable, in per cent, everything that says an instance is not well is ignored
    /// in this pool (the few that are left would be overrun, and what says so may be wrong);
    /// default 50, range 0..=100. Zero never ignores it. What wins over what:
    ///
    /// 1. Disabled and drained instances (weight 0) get no traffic in any case. They do not count for the share.
    /// 2. One that is new, and is warming up or has not passed a required check yet, gets none either, and does not count, unless
    ///    the pool has nobody else.
    /// 3. Below the share all others of the pool are used, by the ordinary ring, so that no key moves but home.
    /// 4. At or above it an instance is left out if the registry calls it unhealthy, or it is ejected, or fails its checks, or
    ///    is damped. One reason is enough, and none is stronger than another.
    ///
    /// Health counts all the same while a later pool of the request's route has usable instances
    /// and is not below the threshold itself: see [`ViewConfig::with_panic_threshold`](ringfence_core::ViewConfig::with_panic_threshold).
    ///
    /// # Errors
    /// [`ConfigError`] above 100.
    pub fn with_panic_threshold(mut self, percent: u8) -> Result<Self, ConfigError> {
        self.view = self.view.with_panic_threshold(percent)?;
        Ok(self)
    }

    /// Ejection of instances that keep failing.
    #[must_use]
    pub fn outlier(&self) -> &OutlierConfig {
        &self.outlier
    }

    /// Whether and how instances that come and go are kept out for longer.
    #[must_use]
    pub fn flap_damping(&self) -> Option<&FlapDampingConfig> {
        self.flap_damping.as_ref()
    }

    /// Usable share of a pool, in per cent, below which health and ejection are ignored.
    #[must_use]
    pub fn panic_threshold(&self) -> u8 {
        self.view.panic_threshold()
    }
}

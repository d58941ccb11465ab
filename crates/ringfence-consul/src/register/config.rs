use std::time::Duration;

use ringfence_discovery::{ConfigError, RegisterConfig};

use crate::ConsulConfigError;

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3_600);
const DAY: Duration = Duration::from_secs(86_400);

/// How instances are kept in Consul.
///
/// # Examples
/// ```
/// use std::time::Duration;
/// use ringfence_consul::ConsulRegisterConfig;
///
/// let config = ConsulRegisterConfig::default().with_ttl(Duration::from_secs(6));
/// # drop(config);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[must_use]
pub struct ConsulRegisterConfig {
    ttl: Duration,
    pub(super) deregister_after: Option<Duration>,
}

impl Default for ConsulRegisterConfig {
    fn default() -> Self {
        Self {
            ttl: 15 * SECOND,
            deregister_after: Some(2 * MINUTE),
        }
    }
}

impl ConsulRegisterConfig {
    /// How long an instance stays healthy without a sign of life; 1 s to 1 h, default 15 s. Signs are given at least three times
    /// as often.
    pub fn with_ttl(mut self, ttl: Duration) -> Self {
        self.ttl = ttl;
        self
    }

    /// How long after that it is taken out; 1 min to 24 h, or never with `None`; default 2 min. Consul looks for such instances
    /// every half minute or so.
    pub fn with_deregister_after(mut self, after: impl Into<Option<Duration>>) -> Self {
        self.deregister_after = after.into();
        self
    }

    pub(super) fn ttl(&self) -> Duration {
        self.ttl
    }

    pub(super) fn check(&self) -> Result<(), ConsulConfigError> {
        let rules = [
            ("ttl", Some(self.ttl), SECOND..=HOUR, "1 s to 1 h"),
            (
                "deregister_after",
                self.deregister_after,
                MINUTE..=DAY,
                "1 min to 24 h",
            ),
        ];
        for (setting, value, legal, expected) in rules {
            if value.is_some_and(|value| !legal.contains(&value)) {
                return Err(ConsulConfigError::Range { setting, expected });
            }
        }
        Ok(())
    }

    /// Heartbeats vary by a tenth and stay within a third of the time to live. A call that hangs, and the wait after it, leave
    /// time for another within it.
    pub(super) fn timing(&self) -> Result<RegisterConfig, ConfigError> {
        let third = self.ttl / 3;
        let base = RegisterConfig::default();
        base.clone()
            .with_heartbeat(self.ttl * 3 / 10)?
            .with_call_timeout(base.call_timeout().min(third))?
            .with_backoff(base.backoff_base(), base.backoff_max().min(third))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_signs_of_life_fit_into_the_time_to_live() {
        for ttl in [SECOND, 6 * SECOND, 15 * SECOND, HOUR] {
            let config = ConsulRegisterConfig::default().with_ttl(ttl);
            config.check().expect("legal");
            let timing = config.timing().expect("legal");
            assert!(timing.heartbeat() * 11 / 10 <= ttl / 3, "{ttl:?}");
            assert!(timing.call_timeout() + timing.backoff_max() < ttl);
        }
        for bad in [Duration::ZERO, 2 * HOUR] {
            let config = ConsulRegisterConfig::default().with_ttl(bad);
            assert!(config.check().is_err());
        }
        let hasty = ConsulRegisterConfig::default().with_deregister_after(SECOND);
        assert!(hasty.check().is_err(), "Consul would raise it silently");
        let never = ConsulRegisterConfig::default().with_deregister_after(None);
        never.check().expect("legal");
    }
}

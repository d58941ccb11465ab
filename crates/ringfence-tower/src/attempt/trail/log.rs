//! What is written to the log.

use ringfence_core::Instance;

use super::Trail;
use crate::settings::Settings;

impl Trail {
    pub(in crate::attempt) fn log_hedge(&self, settings: &Settings, second: &Instance) {
        if let Some(first) = &self.running {
            tracing::debug!(
                service = %settings.balancer.service(),
                instance = %first.instance().id(),
                beside = %second.id(),
                "no answer yet, request goes to another instance too"
            );
        }
    }

    pub(in crate::attempt) fn log_hop(&self, settings: &Settings) {
        if let Some(last) = self.failed().last() {
            tracing::debug!(
                service = %settings.balancer.service(),
                instance = %last.instance(),
                attempt = self.failed().len(),
                reason = last.reason(),
                "request goes on to the next instance"
            );
        }
    }
}

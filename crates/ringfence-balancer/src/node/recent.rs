use std::sync::atomic::{AtomicU64, Ordering};

/// Requests of the last while, older ones less. Only the balancer's task writes it.
#[derive(Debug, Default)]
pub(super) struct RecentLoad {
    /// The bits of the number.
    recent: AtomicU64,
    seen: AtomicU64,
}

impl RecentLoad {
    /// Takes note of all requests so far; `left` is what is left of those that were noted before.
    pub(super) fn fold(&self, total: u64, left: f64) {
        let before = self.seen.swap(total, Ordering::Relaxed);
        #[expect(clippy::cast_precision_loss, reason = "a rate needs no more bits")]
        let new = total.saturating_sub(before) as f64;
        let recent = self.get().mul_add(left, new);
        self.recent.store(recent.to_bits(), Ordering::Relaxed);
    }

    pub(super) fn get(&self) -> f64 {
        f64::from_bits(self.recent.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_requests_count_less() {
        let load = RecentLoad::default();
        load.fold(100, 0.5);
        load.fold(100, 0.5);
        load.fold(130, 0.5);
        assert!((load.get() - 55.0).abs() < f64::EPSILON);
    }
}

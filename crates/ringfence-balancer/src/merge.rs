//! The merge window: which snapshots pass at once and which wait for their successors.

use std::time::{Duration, Instant};

/// Whether a snapshot may wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Urgency {
    /// Nothing differs from what is published; whatever waits is out of date.
    Unchanged,
    /// Additions, weight and tag changes: nobody is hurt when they come a little later.
    MayWait,
    /// The first snapshot, removals, drains, health changes, and the first usable instance.
    AtOnce,
}

#[derive(Debug)]
struct Pending<T> {
    item: T,
    first: Instant,
    last: Instant,
}

/// Keeps at most one snapshot back, the newest.
///
/// A snapshot is a full state, so applying the newest applies everything that waited.
#[derive(Debug)]
pub(crate) struct Merger<T> {
    window: Duration,
    max_delay: Duration,
    pending: Option<Pending<T>>,
    merged: u64,
}

impl<T> Merger<T> {
    pub(crate) fn new(window: Duration, max_delay: Duration) -> Self {
        Self {
            window,
            max_delay,
            pending: None,
            merged: 0,
        }
    }

    /// Takes a snapshot in; gives one back if it is to be applied now.
    pub(crate) fn offer(&mut self, item: T, urgency: Urgency, now: Instant) -> Option<T> {
        let waiting = self.pending.take();
        if waiting.is_some() {
            self.merged += 1;
        }
        match urgency {
            Urgency::Unchanged => None,
            Urgency::AtOnce => Some(item),
            Urgency::MayWait if self.window.is_zero() => Some(item),
            Urgency::MayWait => {
                let first = waiting.map_or(now, |waiting| waiting.first);
                if now.saturating_duration_since(first) >= self.max_delay {
                    return Some(item);
                }
                self.pending = Some(Pending {
                    item,
                    first,
                    last: now,
                });
                None
            }
        }
    }

    /// Drops what waits.
    pub(crate) fn clear(&mut self) {
        self.pending = None;
    }

    /// When [`due`](Self::due) is to be asked next.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.pending
            .as_ref()
            .map(|pending| (pending.last + self.window).min(pending.first + self.max_delay))
    }

    /// What has waited long enough.
    pub(crate) fn due(&mut self, now: Instant) -> Option<T> {
        if self.deadline()? > now {
            return None;
        }
        self.pending.take().map(|pending| pending.item)
    }

    /// Snapshots that were replaced by a newer one while they waited.
    pub(crate) fn merged(&self) -> u64 {
        self.merged
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Duration = Duration::from_millis(200);
    const MAX: Duration = Duration::from_secs(2);

    fn merger() -> (Merger<u32>, Instant) {
        (Merger::new(WINDOW, MAX), Instant::now())
    }

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn a_burst_is_applied_once_when_it_is_over() {
        let (mut merger, start) = merger();
        for step in 0..10 {
            let now = start + ms(u64::from(step) * 10);
            assert_eq!(merger.offer(step, Urgency::MayWait, now), None);
        }
        assert_eq!(merger.deadline(), Some(start + ms(90) + WINDOW));
        assert_eq!(merger.due(start + ms(289)), None);
        assert_eq!(merger.due(start + ms(290)), Some(9));
        assert_eq!(merger.due(start + ms(500)), None);
        assert_eq!(merger.merged(), 9);
    }

    #[test]
    fn a_trickle_waits_at_most_the_maximum_delay() {
        let (mut merger, start) = merger();
        let mut applied = Vec::new();
        for step in 0..40_u32 {
            let now = start + ms(u64::from(step) * 150);
            if let Some(item) = merger.due(now) {
                applied.push((now - start, item));
            }
            if let Some(item) = merger.offer(step, Urgency::MayWait, now) {
                applied.push((now - start, item));
            }
        }
        assert!(applied.len() >= 2, "{applied:?}");
        assert!(applied[0].0 <= ms(2_100), "{applied:?}");
        assert!(applied[1].0 - applied[0].0 <= ms(2_300), "{applied:?}");
    }

    #[test]
    fn an_urgent_one_inside_the_window_takes_everything_with_it() {
        let (mut merger, start) = merger();
        assert_eq!(merger.offer(1, Urgency::MayWait, start), None);
        assert_eq!(merger.offer(2, Urgency::AtOnce, start + ms(50)), Some(2));
        assert_eq!(merger.deadline(), None);
        assert_eq!(merger.due(start + MAX), None);
    }

    #[test]
    fn a_return_to_the_published_state_cancels_the_wait() {
        let (mut merger, start) = merger();
        assert_eq!(merger.offer(1, Urgency::MayWait, start), None);
        assert_eq!(merger.offer(0, Urgency::Unchanged, start + ms(50)), None);
        assert_eq!(merger.deadline(), None);
    }

    #[test]
    fn a_window_of_zero_merges_nothing() {
        let mut merger = Merger::new(Duration::ZERO, MAX);
        assert_eq!(merger.offer(1, Urgency::MayWait, Instant::now()), Some(1));
    }
}

use std::{
    collections::{HashMap, HashSet},
    hash::Hash,
    time::{Duration, Instant},
};

use super::{
    FlapDampingConfig,
    record::{Record, Standing},
};

/// Departed instances that are remembered, so that leaving and coming back is no way out of a penalty; the oldest go first.
const MAX_DEPARTED: usize = 1_024;
/// One that comes back after this time is a new one.
const FORGET_AFTER: Duration = Duration::from_secs(3_600);

/// An instance as [`FlapDamper::update`] wants to know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlapMember<'a, K> {
    /// Its identity.
    pub key: &'a K,
    /// It is healthy and passes its checks. An instance that is drained by hand keeps this: no flap.
    pub serves: bool,
    /// It takes traffic: enabled, and with a weight.
    pub takes_traffic: bool,
    /// It would get requests if it were not for damping.
    pub usable: bool,
}

/// Which instances are used later than they come back, because they come and go. Knows no clock: `now` comes in as an argument.
///
/// It never leaves fewer than the floor: where it would, those with the lowest penalties are used all the same. `K` is the
/// identity of an instance.
///
/// # Examples
/// ```
/// use std::time::{Duration, Instant};
/// use ringfence_core::{FlapDamper, FlapDampingConfig, FlapMember};
///
/// let mut damper = FlapDamper::new(FlapDampingConfig::default());
/// let member = |key, serves| FlapMember { key, serves, takes_traffic: true, usable: serves };
/// let mut at = |serves, now| damper.update(&[member(&"a", serves), member(&"b", true)], 50, now);
/// let start = Instant::now();
/// assert!(at(true, start).is_empty(), "new instances are not delayed");
/// assert!(at(false, start + Duration::from_secs(1)).is_empty());
/// assert_eq!(at(true, start + Duration::from_secs(2)), [0], "back, and not yet for five seconds");
/// assert!(at(true, start + Duration::from_secs(7)).is_empty());
/// ```
#[derive(Debug)]
pub struct FlapDamper<K> {
    config: FlapDampingConfig,
    records: HashMap<K, Record>,
    next: Option<Instant>,
    flaps: u64,
    suppressed: usize,
}

impl<K: Clone + Ord + Hash> FlapDamper<K> {
    /// Knows of no instance yet.
    #[must_use]
    pub fn new(config: FlapDampingConfig) -> Self {
        Self {
            config,
            records: HashMap::new(),
            next: None,
            flaps: 0,
            suppressed: 0,
        }
    }

    /// Takes in the state of all instances of the service, and gives the places of those that are to be withheld.
    ///
    /// At least `floor_percent` per cent of those that take traffic, and one, stay usable if they are so without damping.
    #[must_use = "those that it gives are to be withheld, and all others are not"]
    pub fn update(
        &mut self,
        members: &[FlapMember<'_, K>],
        floor_percent: u8,
        now: Instant,
    ) -> Vec<usize> {
        self.depart(members, now);
        self.next = None;
        self.suppressed = 0;
        let mut held = Vec::new();
        for (place, member) in members.iter().enumerate() {
            let record = self
                .records
                .entry(member.key.clone())
                .or_insert_with(|| Record::new(now));
            self.flaps += u64::from(record.observe(member.serves, now, &self.config));
            let Some(until) = record.held_until(now, &self.config) else {
                continue;
            };
            self.next = Some(self.next.map_or(until, |next| next.min(until)));
            self.suppressed += usize::from(record.is_suppressed());
            if member.usable && member.takes_traffic {
                held.push((record.penalty(now, &self.config), until, place));
            }
        }
        let takers = members.iter().filter(|member| member.takes_traffic);
        let (total, usable) = takers.fold((0, 0), |(total, usable), member| {
            (total + 1, usable + usize::from(member.usable))
        });
        // The worst first; among equals whoever came back last.
        held.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)).then(b.2.cmp(&a.2)));
        held.truncate(usable.saturating_sub(floor(total, floor_percent)));
        held.into_iter().map(|(_, _, place)| place).collect()
    }

    /// When [`update`](Self::update) is to be called again, even if nothing happens.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        self.next
    }

    /// Flaps so far: instances that served and left, or stopped to be healthy.
    #[must_use]
    pub fn flaps(&self) -> u64 {
        self.flaps
    }

    /// Members that serve again and whose penalty has not fallen far enough yet; those that the floor lets in included.
    #[must_use]
    pub fn suppressed(&self) -> usize {
        self.suppressed
    }

    fn depart(&mut self, members: &[FlapMember<'_, K>], now: Instant) {
        let present: HashSet<&K> = members.iter().map(|member| member.key).collect();
        let (config, flaps) = (&self.config, &mut self.flaps);
        self.records.retain(|key, record| {
            if present.contains(key) {
                return true;
            }
            match record.standing {
                Standing::New => return false,
                Standing::Departed(at) => return now.saturating_duration_since(at) < FORGET_AFTER,
                Standing::Serving { .. } | Standing::Down => {}
            }
            *flaps += u64::from(record.depart(now, config));
            true
        });
        let departed = self
            .records
            .iter()
            .filter_map(|(key, record)| match record.standing {
                Standing::Departed(at) => Some((at, key)),
                _ => None,
            });
        let mut departed: Vec<(Instant, &K)> = departed.collect();
        let surplus = departed.len().saturating_sub(MAX_DEPARTED);
        if surplus == 0 {
            return;
        }
        departed.sort();
        let oldest = departed.into_iter().take(surplus);
        let oldest: Vec<K> = oldest.map(|(_, key)| key.clone()).collect();
        for key in oldest {
            self.records.remove(&key);
        }
    }

    /// How many instances are remembered.
    #[cfg(test)]
    pub(super) fn remembered(&self) -> usize {
        self.records.len()
    }
}

/// How many of `total` have to stay usable.
fn floor(total: usize, percent: u8) -> usize {
    let share = (total as u128 * u128::from(percent)).div_ceil(100);
    usize::try_from(share).unwrap_or(total).max(1)
}

use std::collections::{BTreeMap, BTreeSet};

use ringfence_core::{Instance, RingDiff};
use serde::Serialize;

use super::mapper::{Ids, Mapper};
use crate::{input::Fleet, measure::ideal};

/// What one change does to the keys.
pub(super) struct Step {
    change: String,
    keys: u64,
    moved: BTreeMap<(Option<u32>, Option<u32>), u64>,
    unchanged: BTreeSet<u32>,
    ideal: f64,
    exact: Option<f64>,
}

/// The same, to be written.
#[derive(Serialize)]
pub(super) struct Told<'a> {
    pub(super) change: &'a str,
    pub(super) keys: u64,
    pub(super) moved: u64,
    pub(super) moved_share: f64,
    /// Of the whole key space, where the algorithm divides it into arcs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) exact_share: Option<f64>,
    pub(super) ideal_share: f64,
    pub(super) between_unchanged: u64,
    pub(super) between_unchanged_share: f64,
    pub(super) moves: Vec<Pair<'a>>,
}

#[derive(Serialize)]
pub(super) struct Pair<'a> {
    pub(super) from: Option<&'a str>,
    pub(super) to: Option<&'a str>,
    pub(super) keys: u64,
    pub(super) share: f64,
    pub(super) between_unchanged: bool,
}

impl Step {
    pub(super) fn new(
        change: &str,
        (before, old): (&Fleet, &Mapper),
        (after, new): (&Fleet, &Mapper),
        ids: &Ids,
    ) -> Self {
        let by_id = before.instances.iter().map(|i| (i.id(), i));
        let by_id: BTreeMap<_, _> = by_id.collect();
        let same = after.instances.iter().filter(|after| {
            let before = by_id.get(after.id());
            before.is_some_and(|before| is_unchanged(before, after))
        });
        let exact = match (old.ring(), new.ring()) {
            (Some(old), Some(new)) => RingDiff::share_between(old, new),
            _ => None,
        };
        Self {
            change: change.to_owned(),
            keys: 0,
            moved: BTreeMap::new(),
            unchanged: same.filter_map(|i| ids.find(i.id().as_str())).collect(),
            ideal: ideal(&before.instances, &after.instances),
            exact: exact.map(|share| share.as_f64()),
        }
    }

    pub(super) fn count(&mut self, from: Option<u32>, to: Option<u32>) {
        self.keys += 1;
        if from != to {
            *self.moved.entry((from, to)).or_default() += 1;
        }
    }

    pub(super) fn told<'a>(&'a self, ids: &'a Ids) -> Told<'a> {
        let stays = |id: Option<u32>| id.is_some_and(|id| self.unchanged.contains(&id));
        let name = |id: Option<u32>| id.and_then(|id| ids.name(id));
        let mut moves: Vec<Pair<'a>> = self
            .moved
            .iter()
            .map(|(&(from, to), &keys)| Pair {
                from: name(from),
                to: name(to),
                keys,
                share: share(keys, self.keys),
                between_unchanged: stays(from) && stays(to),
            })
            .collect();
        moves.sort_by(|a, b| (b.keys, a.from, a.to).cmp(&(a.keys, b.from, b.to)));
        let moved = moves.iter().map(|pair| pair.keys).sum();
        let unchanged = moves.iter().filter(|pair| pair.between_unchanged);
        let between_unchanged = unchanged.map(|pair| pair.keys).sum();
        Told {
            change: &self.change,
            keys: self.keys,
            moved,
            moved_share: share(moved, self.keys),
            exact_share: self.exact,
            ideal_share: self.ideal,
            between_unchanged,
            between_unchanged_share: share(between_unchanged, self.keys),
            moves,
        }
    }
}

/// Whether nothing changed that decides which keys an instance has.
fn is_unchanged(before: &Instance, after: &Instance) -> bool {
    let hashed = |i: &Instance| i.tag("hash_key").map(ToOwned::to_owned);
    before.weight() == after.weight()
        && before.is_enabled() == after.is_enabled()
        && before.address() == after.address()
        && hashed(before) == hashed(after)
}

fn share(keys: u64, of: u64) -> f64 {
    #[expect(
        clippy::cast_precision_loss,
        reason = "53 bits of a share are enough to show it"
    )]
    let share = keys as f64 / of.max(1) as f64;
    share
}

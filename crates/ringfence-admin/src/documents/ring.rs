//! Who owns which part of the key space.

use std::collections::BTreeMap;

use ringfence_core::{HashAlgorithm, KeyHash, KeyShare, Ring};
use ringfence_policy::RingSettings;
use serde::Serialize;

use super::MAX_INSTANCES;

/// Parts that the circle is divided into for drawing.
const SLICES: usize = 720;
/// Owners that are told of a slice; those with the largest shares.
const OWNERS: usize = 8;
/// Largest ring that is gone over: some 10 ms of work.
const MAX_STEPS: usize = 1 << 20;
/// Most keys by which shares are found where the algorithm has no ranges.
const SAMPLE: usize = 16_384;
/// Keys below which a sample says nothing.
const MIN_SAMPLE: usize = 256;

/// Of each slice: its owners with their shares of it in thousandths.
type Slices = Vec<Vec<(usize, u32)>>;

/// The ring of all instances.
#[derive(Debug, Serialize)]
pub(crate) struct RingDocument {
    algorithm: &'static str,
    settings: RingSettings,
    pub(crate) fingerprint: String,
    points: usize,
    capped: bool,
    /// What shares are found by.
    basis: Basis,
    /// How many keys were looked up for a sample.
    sample: Option<usize>,
    members: Vec<Member>,
    /// Members beyond the largest number that is told.
    truncated: bool,
    /// How many positions the key space has, in decimal digits: a key lies at its hash modulo this.
    positions: Option<String>,
    /// Equal parts of the key space in order, each with its owners: their place in `members` and their share of the part in
    /// thousandths. Empty where neighbouring keys have nothing in common.
    slices: Slices,
}

#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum Basis {
    /// The whole key space was gone over.
    Ranges,
    /// The owners of some keys.
    Sample,
    /// The numbers of points: the ring is too large to go over.
    Points,
}

#[derive(Debug, Serialize)]
struct Member {
    id: String,
    points: u32,
    /// Part of the key space.
    share: f64,
}

impl RingDocument {
    pub(crate) fn of(ring: &Ring) -> Self {
        let mut settings = RingSettings::from(ring.config());
        // Lists of ids as long as the table has slots.
        settings.buckets = None;
        settings.slots = None;
        let (basis, shares) = shares_of(ring);
        let (positions, slices) = slices_of(ring).unzip();
        let members = (0u32..).take(ring.member_count().min(MAX_INSTANCES));
        let members = members.zip(&shares).map(|(member, share)| Member {
            id: ring
                .member_id(member)
                .map(ToString::to_string)
                .unwrap_or_default(),
            points: ring.points_of(member),
            share: *share,
        });
        Self {
            algorithm: ring.config().algorithm().as_str(),
            settings,
            fingerprint: ring.fingerprint().to_string(),
            points: ring.len(),
            capped: ring.is_capped(),
            basis,
            sample: matches!(basis, Basis::Sample).then(|| sample_of(ring)),
            members: members.collect(),
            truncated: ring.member_count() > MAX_INSTANCES,
            positions: positions.map(|positions: u128| positions.to_string()),
            slices: slices.unwrap_or_default(),
        }
    }
}

/// By member: its part of all keys.
fn shares_of(ring: &Ring) -> (Basis, Vec<f64>) {
    if ring.arc_steps() > MAX_STEPS {
        return (Basis::Points, by_points(ring));
    }
    match ring.shares() {
        Some(shares) => (
            Basis::Ranges,
            shares.into_iter().map(KeyShare::as_f64).collect(),
        ),
        None => (Basis::Sample, by_sample(ring)),
    }
}

/// How many positions the key space has, and its slices; `None` where neighbouring keys have nothing in common, and where going
/// over the ring would take too long.
fn slices_of(ring: &Ring) -> Option<(u128, Slices)> {
    if ring.is_empty() || ring.arc_steps() > MAX_STEPS {
        return None;
    }
    let of_points = |last| Some(slices(arcs(ring.points(), last), last));
    match ring.config().algorithm() {
        HashAlgorithm::Maglev(maglev) => of_points(u64::from(maglev.table_size()).checked_sub(1)?),
        HashAlgorithm::Slots(_) => {
            let last = ring.last_position()?;
            let owned = (0..=last).map(|slot| (slot, ring.owner(KeyHash::from_raw(slot))));
            Some(slices(owned, last))
        }
        _ => of_points(ring.last_position()?),
    }
}

/// The last position of each arc with its owner; each begins behind the one before, and the last one ends with the space.
fn arcs(
    points: impl Iterator<Item = (u64, u32)>,
    last: u64,
) -> impl Iterator<Item = (u64, Option<u32>)> {
    let mut points = points.peekable();
    // Keys behind the last point are those of the first one.
    let first = points.peek().map(|(_, member)| *member);
    let mut before = None;
    let own = points.filter(move |(position, _)| before.replace(*position) != Some(*position));
    own.map(|(position, member)| (position, Some(member)))
        .chain([(last, first)])
}

fn slices(arcs: impl Iterator<Item = (u64, Option<u32>)>, last: u64) -> (u128, Slices) {
    let space = u128::from(last) + 1;
    // A space of fewer positions than slices is drawn whole.
    let count = SLICES.min(usize::try_from(space).unwrap_or(SLICES));
    let mut slices: Vec<Slice> = (0..count).map(|_| Slice::default()).collect();
    let mut start = 0u128;
    for (position, owner) in arcs {
        let end = u128::from(position) + 1;
        if let Some(owner) = owner.filter(|_| end > start) {
            for (slice, part) in parts(start, end, space, count) {
                if let Some(slice) = slices.get_mut(slice) {
                    slice.add(owner, part);
                }
            }
        }
        start = start.max(end);
    }
    let told = slices.into_iter().map(|slice| slice.told(space));
    (space, told.collect())
}

/// How much of each slice lies in a range, in positions times the number of slices, so that their borders are whole numbers.
fn parts(start: u128, end: u128, space: u128, count: usize) -> impl Iterator<Item = (usize, u128)> {
    // A space has at most 2^64 positions, and there are fewer than 2^10 slices.
    let (start, end) = (start * count as u128, end * count as u128);
    let slices = start / space..=(end - 1) / space;
    slices.map(move |slice| {
        let (from, to) = (slice * space, (slice + 1) * space);
        let place = usize::try_from(slice).unwrap_or(usize::MAX);
        (place, end.min(to) - start.max(from))
    })
}

/// One part of the circle, with its owners in the order in which they begin.
#[derive(Default)]
struct Slice {
    owners: Vec<u32>,
    parts: BTreeMap<u32, u128>,
}

impl Slice {
    fn add(&mut self, owner: u32, part: u128) {
        let known = self.parts.entry(owner).or_insert_with(|| {
            self.owners.push(owner);
            0
        });
        *known += part;
    }

    fn told(self, space: u128) -> Vec<(usize, u32)> {
        let mut parts: Vec<u128> = self.parts.values().copied().collect();
        parts.sort_unstable_by(|a, b| b.cmp(a));
        let least = parts.get(OWNERS - 1).copied().unwrap_or(0);
        let told = self.owners.iter().filter_map(|owner| {
            let part = *self.parts.get(owner)?;
            let place = *owner as usize;
            let permille = u32::try_from((part * 1000 + space / 2) / space).unwrap_or(1000);
            (part >= least && permille > 0 && place < MAX_INSTANCES).then_some((place, permille))
        });
        told.collect()
    }
}

/// How many keys are looked up: fewer where each costs a score for every member or a search for every probe.
fn sample_of(ring: &Ring) -> usize {
    let steps = match ring.config().algorithm() {
        HashAlgorithm::Rendezvous => ring.member_count(),
        _ => usize::try_from(ring.config().probes()).unwrap_or(usize::MAX),
    };
    (MAX_STEPS / steps.max(1)).clamp(MIN_SAMPLE, SAMPLE)
}

fn by_sample(ring: &Ring) -> Vec<f64> {
    let mut owned = vec![0u64; ring.member_count()];
    let sample = sample_of(ring) as u64;
    for number in 0..sample {
        let key = number.to_le_bytes();
        let owner = ring.owner(ring.config().hash_key(&key));
        if let Some(owned) = owner.and_then(|owner| owned.get_mut(owner as usize)) {
            *owned += 1;
        }
    }
    let shares = owned
        .into_iter()
        .map(|keys| KeyShare::new(keys.into(), sample.into()));
    shares.map(KeyShare::as_f64).collect()
}

fn by_points(ring: &Ring) -> Vec<f64> {
    let members = (0u32..).take(ring.member_count());
    let points = members.map(|member| u128::from(ring.points_of(member)));
    let points: Vec<_> = points.collect();
    let all = points.iter().sum::<u128>().max(1);
    let shares = points.into_iter().map(|points| KeyShare::new(points, all));
    shares.map(KeyShare::as_f64).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ringfence_core::{
        EnvoyRing, Instance, Jump, Ketama, Maglev, Nginx, Pool, RingConfig, RingDiff, Selector,
        Slots, Snapshot,
    };

    use super::*;

    fn ring(weights: &[u32], config: &RingConfig) -> Ring {
        let instances = weights.iter().enumerate().map(|(i, weight)| {
            let built = Instance::builder(
                format!("i-{i:03}"),
                format!("10.0.{}.{}:80", i / 250, i % 250 + 1),
            );
            built.weight(*weight).build().expect("legal")
        });
        let snapshot = Arc::new(Snapshot::new(instances));
        Ring::build(&Pool::select(&snapshot, &Selector::any()), config)
    }

    fn sum(document: &RingDocument) -> f64 {
        document.members.iter().map(|member| member.share).sum()
    }

    #[test]
    fn the_shares_are_those_of_a_million_keys() {
        let config = RingConfig::default();
        let ring = ring(&[100, 50, 200, 0], &config);
        let document = RingDocument::of(&ring);
        assert!((sum(&document) - 1.0).abs() < 1e-9);
        let mut owned = [0u32; 4];
        let keys = 200_000u64;
        for key in 0..keys {
            let owner = ring
                .owner(config.hash_key(&key.to_le_bytes()))
                .expect("some");
            owned[owner as usize] += 1;
        }
        for (member, owned) in document.members.iter().zip(owned) {
            let counted = f64::from(owned) / keys as f64;
            assert!(
                (member.share - counted).abs() < 0.005,
                "{member:?}: {counted}"
            );
        }
        assert_eq!(document.members[3].share, 0.0);
    }

    #[test]
    fn a_slice_tells_who_owns_the_keys_in_it() {
        let config = RingConfig::default();
        let ring = ring(&[100; 3], &config);
        let document = RingDocument::of(&ring);
        assert_eq!(document.slices.len(), SLICES);
        for (place, slice) in document.slices.iter().enumerate() {
            let total: u32 = slice.iter().map(|(_, permille)| permille).sum();
            assert!((996..=1004).contains(&total), "{place}: {slice:?}");
            // The middle of the slice is owned by one that is told.
            let middle = (place as u128 * 2 + 1) * (1 << 64) / (2 * SLICES as u128);
            let hash = KeyHash::from_raw(u64::try_from(middle).expect("in the space"));
            let owner = ring.owner(hash).expect("some") as usize;
            assert!(
                slice.iter().any(|(told, _)| *told == owner),
                "{place}: {slice:?} lacks {owner}"
            );
        }
    }

    #[test]
    fn every_algorithm_has_shares() {
        let slices = |algorithm: HashAlgorithm| {
            let ring = ring(&[100; 5], &RingConfig::default().with_algorithm(algorithm));
            let document = RingDocument::of(&ring);
            assert!((sum(&document) - 1.0).abs() < 1e-6, "{document:?}");
            assert!(
                document.members.iter().all(|member| member.share > 0.02),
                "{document:?}"
            );
            document.slices.len()
        };
        assert_eq!(slices(HashAlgorithm::Ring), SLICES);
        assert_eq!(slices(EnvoyRing::default().into()), SLICES);
        assert_eq!(slices(Maglev::default().into()), SLICES);
        assert_eq!(slices(Nginx::default().into()), SLICES);
        assert_eq!(slices(Ketama::default().into()), SLICES);
        assert_eq!(slices(Slots::default().into()), SLICES);
        assert_eq!(slices(Jump::default().into()), 0);
        assert_eq!(slices(HashAlgorithm::Rendezvous), 0);
    }

    #[test]
    fn many_instances_make_no_large_document() {
        let document = RingDocument::of(&ring(&[100; MAX_INSTANCES + 200], &RingConfig::default()));
        assert!(document.truncated);
        assert_eq!(document.members.len(), MAX_INSTANCES);
        assert!(document.slices.iter().all(|slice| slice.len() <= OWNERS));
        let text = serde_json::to_string(&document).expect("it can be written");
        assert!(text.len() < 250_000, "{}", text.len());
    }

    /// A score is worked out for each instance at each look-up, on the thread of the program's own requests.
    #[test]
    fn a_sample_is_smaller_where_its_keys_cost_more() {
        let sample = |count: usize, config: &RingConfig| {
            let document = RingDocument::of(&ring(&vec![100; count], config));
            assert!(
                (document.members.iter().map(|m| m.share).sum::<f64>() - 1.0).abs() < 1e-6
                    || document.truncated
            );
            document.sample
        };
        let rendezvous = RingConfig::default().with_algorithm(HashAlgorithm::Rendezvous);
        assert_eq!(sample(5, &rendezvous), Some(SAMPLE));
        assert_eq!(sample(1_024, &rendezvous), Some(1_024));
        assert_eq!(sample(8_192, &rendezvous), Some(MIN_SAMPLE));
        let jump = RingConfig::default().with_algorithm(Jump::default());
        assert_eq!(sample(100, &jump), Some(SAMPLE));
        assert_eq!(sample(5, &RingConfig::default()), None);
    }

    #[test]
    fn nobody_and_one() {
        let none = RingDocument::of(&ring(&[], &RingConfig::default()));
        assert!(none.members.is_empty() && none.slices.is_empty());
        let one = RingDocument::of(&ring(&[100], &RingConfig::default()));
        assert_eq!(one.members[0].share, 1.0);
        assert!(one.slices.iter().all(|slice| *slice == [(0, 1000)]));
    }

    #[test]
    fn the_shares_agree_with_what_a_join_moves() {
        let config = RingConfig::default();
        let (before, after) = (ring(&[100; 3], &config), ring(&[100; 4], &config));
        let moved = RingDiff::share_between(&before, &after)
            .expect("it has ranges")
            .as_f64();
        let newcomer = RingDocument::of(&after).members[3].share;
        assert!((moved - newcomer).abs() < 1e-9, "{moved} {newcomer}");
    }
}

//! What a report tells, as numbers.

use std::{collections::BTreeSet, sync::Arc};

use ringfence_core::{
    Evenness, HashAlgorithm, Instance, InstanceId, Pool, Ring, RingConfig, RingDiff, Selector,
    Snapshot,
};
use ringfence_policy::RingSettings;

use crate::{
    args::ReportArgs,
    input::{Fleet, generated},
    measure::{Shares, affordable, evenness, expected, ideal},
    output::state_of,
    progress::Progress,
};

/// Points for each instance at which the evenness is measured.
const POINTS: [u32; 18] = [
    1, 2, 3, 5, 8, 13, 20, 32, 50, 80, 120, 160, 220, 320, 450, 600, 800, 1_000,
];

/// Points of a ring that the curve may cost; larger ones are left out of it.
const MOST_POINTS: u64 = 2_000_000;

pub(super) struct Measured {
    pub(super) settings: RingSettings,
    pub(super) fingerprint: String,
    pub(super) points: usize,
    pub(super) sample: Option<u64>,
    pub(super) evenness: Evenness,
    pub(super) ring: Arc<Ring>,
    pub(super) rows: Vec<Row>,
    pub(super) curve: Vec<Sample>,
    pub(super) changes: Vec<Change>,
    /// How many keys the changes were counted over; nothing where they are exact.
    pub(super) changes_sample: Option<u64>,
    /// Instances whose changes are not shown.
    pub(super) left_out: usize,
    /// Instances whose changes are shown.
    pub(super) shown: usize,
}

pub(super) struct Row {
    pub(super) id: String,
    pub(super) address: String,
    pub(super) zone: String,
    pub(super) version: String,
    pub(super) state: &'static str,
    pub(super) weight: u32,
    pub(super) points: u32,
    pub(super) share: f64,
    /// Nothing of one that takes no traffic.
    pub(super) expected: Option<f64>,
}

/// The evenness of the own ring with so many points for each instance.
pub(super) struct Sample {
    pub(super) points: u32,
    pub(super) evenness: Evenness,
}

/// What one change moves, as parts of the key space.
pub(super) struct Change {
    pub(super) what: String,
    pub(super) moved: f64,
    pub(super) ideal: f64,
    /// Between instances that did not change.
    pub(super) between: f64,
}

impl Measured {
    pub(super) fn of(fleet: &Fleet, config: &RingConfig, args: &ReportArgs) -> Self {
        let (pool, ring) = crate::input::ring(fleet, config);
        let shares = Shares::shown(&ring, affordable(&ring, args.sample, 1));
        let expected = expected(&fleet.instances);
        let evenness = evenness(&shares, &expected);
        let rows = (0u32..).zip(pool.iter()).map(|(member, instance)| Row {
            id: instance.id().to_string(),
            address: instance.address().to_string(),
            zone: instance.zone().unwrap_or("-").to_owned(),
            version: instance.version().unwrap_or("-").to_owned(),
            state: state_of(instance),
            weight: instance.weight().get(),
            points: ring.points_of(member),
            share: shares.get(instance.id().as_str()),
            expected: expected.get(instance.id().as_str()).copied(),
        });
        let rows: Vec<Row> = rows.collect();
        let mut by_share: Vec<&Row> = rows.iter().filter(|row| row.expected.is_some()).collect();
        by_share.sort_by(|a, b| b.share.total_cmp(&a.share));
        let shown = by_share.len().min(usize::from(args.changes));
        let left_out = by_share.len() - shown;
        let shown: BTreeSet<&str> = by_share
            .iter()
            .take(shown)
            .map(|row| row.id.as_str())
            .collect();
        // Each of them looks its keys up before and after.
        let looked_up = 2 * (2 * shown.len() as u64 + 1);
        let sample_of_changes = affordable(&ring, args.sample, looked_up);
        Self {
            settings: RingSettings::from(config),
            fingerprint: ring.fingerprint().to_string(),
            points: ring.len(),
            sample: shares.sample,
            evenness,
            curve: curve(fleet, config, args.sample),
            changes: changes(fleet, &ring, &shown, sample_of_changes),
            changes_sample: shares.sample.map(|_| sample_of_changes),
            left_out,
            shown: shown.len(),
            ring,
            rows,
        }
    }
}

/// Of the own ring with the settings given, or with its default ones where the algorithm is another.
fn curve(fleet: &Fleet, config: &RingConfig, sample: u64) -> Vec<Sample> {
    let own = match config.algorithm() {
        HashAlgorithm::Ring => config.clone(),
        _ => RingConfig::default().with_seed(config.seed()),
    };
    let expected = expected(&fleet.instances);
    let weights: u64 = fleet
        .instances
        .iter()
        .map(|i| u64::from(i.weight().get()))
        .sum();
    let progress = Progress::new("evenness by points", Some(POINTS.len() as u64));
    let mut curve = Vec::new();
    for points in POINTS {
        progress.big_step();
        if u64::from(points).saturating_mul(weights) / 100 > MOST_POINTS {
            break;
        }
        let Ok(config) = own.clone().with_points_per_instance(points) else {
            continue;
        };
        let (_, ring) = crate::input::ring(fleet, &config);
        let evenness = evenness(&Shares::of(&ring, sample), &expected);
        curve.push(Sample { points, evenness });
    }
    curve
}

fn changes(fleet: &Fleet, ring: &Arc<Ring>, shown: &BTreeSet<&str>, sample: u64) -> Vec<Change> {
    let shown: Vec<&Instance> = fleet
        .instances
        .iter()
        .filter(|instance| shown.contains(instance.id().as_str()))
        .collect();
    let progress = Progress::new("movement by change", Some(2 * shown.len() as u64 + 1));
    let mut changes = Vec::new();
    let mut tell = |what: String, changed: &InstanceId, after: Vec<Instance>| {
        progress.big_step();
        changes.push(change(what, fleet, ring, changed, after, sample));
    };
    if let Some(like) = shown.first() {
        // Its id is none that a registry gives, and its address is of no network (RFC 5737).
        let added = Instance::builder("ringfence-report-new", "192.0.2.1:65535")
            .weight(usual_weight(fleet));
        if let Ok(added) = added.scheme(like.scheme()).build() {
            let id = added.id().clone();
            let after = fleet.instances.iter().cloned().chain([added]).collect();
            tell("add one more".to_owned(), &id, after);
        }
    }
    for instance in &shown {
        let others = fleet
            .instances
            .iter()
            .filter(|other| other.id() != instance.id());
        tell(
            format!("remove {}", instance.id()),
            instance.id(),
            others.cloned().collect(),
        );
    }
    for instance in &shown {
        let half = (instance.weight().get() / 2).max(1);
        let Ok(lighter) = instance.to_builder().weight(half).build() else {
            continue;
        };
        let after = fleet
            .instances
            .iter()
            .map(|other| match other.id() == instance.id() {
                true => lighter.clone(),
                false => other.clone(),
            });
        tell(
            format!("halve {}", instance.id()),
            instance.id(),
            after.collect(),
        );
    }
    changes
}

/// The median of the weights.
fn usual_weight(fleet: &Fleet) -> u32 {
    let takers = fleet.instances.iter().filter(|i| i.takes_traffic());
    let mut weights: Vec<u32> = takers.map(|i| i.weight().get()).collect();
    weights.sort_unstable();
    weights.get(weights.len() / 2).copied().unwrap_or(100)
}

fn change(
    what: String,
    before: &Fleet,
    ring: &Arc<Ring>,
    changed: &InstanceId,
    after: Vec<Instance>,
    sample: u64,
) -> Change {
    let ideal = ideal(&before.instances, &after);
    let pool = Pool::select(&Arc::new(Snapshot::new(after)), &Selector::any());
    let new = ring.update(&pool);
    let diff = RingDiff::between(Arc::clone(ring), Arc::clone(&new)).unwrap_or_else(|_| {
        let keys = (0..sample).map(|number| generated(0, number));
        RingDiff::sampled(Arc::clone(ring), new, keys)
    });
    let touches = |id: Option<&InstanceId>| id == Some(changed);
    let between = diff.moves().filter(|m| !touches(m.from) && !touches(m.to));
    Change {
        what,
        moved: diff.moved_share().as_f64(),
        ideal,
        between: between.map(|m| m.share.as_f64()).sum(),
    }
}

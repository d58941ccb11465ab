use std::{
    collections::BTreeMap,
    io::Write,
    process::ExitCode,
    time::{Duration, Instant},
};

use ringfence_core::{Evenness, HashAlgorithm, Pool, Ring, RingConfig};
use ringfence_policy::RingSettings;
use serde::Serialize;

use crate::{
    args::{Format, PlanArgs},
    failure::{Failure, unless_closed},
    input::{Algorithm, Fleet, ring},
    measure::{Shares, evenness, expected},
    output::{Table, percent, write_facts},
};

/// Exit code where the bound is passed.
const UNEVEN: u8 = 1;

#[derive(Serialize)]
struct Plan {
    settings: RingSettings,
    fingerprint: String,
    points: usize,
    capped: bool,
    /// `exact` or `sample`.
    shares: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    sample: Option<u64>,
    cv: f64,
    max_over_mean: f64,
    memory_bytes_at_most: u64,
    build_micros: u128,
    advice: Vec<String>,
    instances: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    instance: String,
    weight: u32,
    points: u32,
    share: f64,
    expected: f64,
    /// Share divided by what is expected; nothing of one that takes no traffic.
    relative: Option<f64>,
}

pub(crate) fn run(args: &PlanArgs, out: &mut dyn Write) -> Result<ExitCode, Failure> {
    let config = Algorithm::ring_of(&args.ring)?;
    let fleet = Fleet::of(&args.ring)?;
    fleet.check_takers(&args.ring.instances)?;
    let start = Instant::now();
    let (pool, ring) = ring(&fleet, &config);
    let build_time = start.elapsed();
    let shares = Shares::shown(&ring, args.sample);
    let expected = expected(&fleet.instances);
    let evenness = evenness(&shares, &expected);
    let is_uneven = args
        .imbalance_bound
        .is_some_and(|bound| evenness.max_over_mean > bound);
    let plan = Plan {
        settings: RingSettings::from(&config),
        fingerprint: ring.fingerprint().to_string(),
        points: ring.len(),
        capped: ring.is_capped(),
        shares: match shares.sample {
            Some(_) => "sample",
            None => "exact",
        },
        sample: shares.sample,
        cv: evenness.cv,
        max_over_mean: evenness.max_over_mean,
        memory_bytes_at_most: memory(&config, &pool, &ring),
        build_micros: build_time.as_micros(),
        advice: advice(
            &config,
            &ring,
            expected.len(),
            evenness,
            args.imbalance_bound,
        ),
        instances: rows(&pool, &ring, &shares, &expected),
    };
    unless_closed(write(&plan, build_time, args.format, out))?;
    Ok(match is_uneven {
        true => ExitCode::from(UNEVEN),
        false => ExitCode::SUCCESS,
    })
}

fn write(
    plan: &Plan,
    build_time: Duration,
    format: Format,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    match format {
        Format::Table => table(plan, build_time, out)?,
        Format::Json => {
            serde_json::to_writer_pretty(&mut *out, plan)?;
            writeln!(out)?;
        }
        Format::Csv => {
            let mut writer = csv::Writer::from_writer(out);
            for row in &plan.instances {
                writer.serialize(row)?;
            }
            writer.flush()?;
        }
    }
    Ok(())
}

fn rows(pool: &Pool, ring: &Ring, shares: &Shares, expected: &BTreeMap<&str, f64>) -> Vec<Row> {
    let members = (0u32..).zip(pool.iter());
    let row = |(member, instance): (u32, &std::sync::Arc<ringfence_core::Instance>)| {
        let id = instance.id().as_str();
        let (share, expected) = (shares.get(id), expected.get(id).copied());
        Row {
            instance: id.to_owned(),
            weight: instance.weight().get(),
            points: ring.points_of(member),
            share,
            expected: expected.unwrap_or_default(),
            relative: expected.map(|expected| share / expected),
        }
    };
    members.map(row).collect()
}

/// The most that the points or the table take, as the algorithms' documentation has it; members and their ids come on top.
fn memory(config: &RingConfig, pool: &Pool, ring: &Ring) -> u64 {
    let (points, instances) = (ring.len(), pool.len());
    // What rendezvous scores, which others walk by.
    let scored = instances * 16;
    let bytes = match config.algorithm() {
        HashAlgorithm::Maglev(_) => points * 4,
        // Position of 64 bits, owner and index.
        HashAlgorithm::EnvoyRing(_) => points * 16,
        HashAlgorithm::Jump(jump) => jump.buckets().map_or(instances, <[_]>::len) * 8 + scored,
        HashAlgorithm::Rendezvous => scored,
        HashAlgorithm::Slots(slots) => {
            let ranges = slots.table().map(|table| table.ranges().len());
            ranges.unwrap_or(instances) * 8 + scored
        }
        // Positions of 32 bits.
        _ => points * 12,
    };
    bytes as u64
}

/// What a person who knows the algorithms would say.
fn advice(
    config: &RingConfig,
    ring: &Ring,
    takers: usize,
    evenness: Evenness,
    bound: Option<f64>,
) -> Vec<String> {
    let mut advice = Vec::new();
    let algorithm = config.algorithm();
    if (2..=3).contains(&takers) && !matches!(algorithm, HashAlgorithm::Rendezvous) {
        advice.push(format!(
            "with {takers} instances `--algorithm rendezvous` shares more evenly and needs no points; each look-up takes time by their number"
        ));
    }
    if let Some(bound) = bound.filter(|bound| evenness.max_over_mean > *bound) {
        let max = evenness.max_over_mean;
        let how = match algorithm {
            HashAlgorithm::Ring => "; raise points_per_instance, or probes",
            HashAlgorithm::EnvoyRing(_) => "; raise min_ring_size",
            HashAlgorithm::Maglev(_) => "; raise table_size, to a larger prime",
            HashAlgorithm::Slots(_) => "; give the slots out anew",
            HashAlgorithm::Nginx(_) | HashAlgorithm::Ketama(_) => {
                "; its points are fixed, another algorithm is more even"
            }
            // Of jump and rendezvous only the sample is uneven.
            _ => "; a larger --sample may tell otherwise",
        };
        advice.push(format!(
            "one instance has {max:.3} times what its weight promises, more than {bound}{how}"
        ));
    }
    if ring.is_capped() {
        let limit = match algorithm {
            HashAlgorithm::EnvoyRing(_) => "max_ring_size",
            _ => "max_ring_points",
        };
        advice.push(format!(
            "the points are scaled down to {limit}, so that a change of one weight can move keys of others; raise {limit} or lower the weights"
        ));
    }
    match algorithm {
        HashAlgorithm::EnvoyRing(_) => advice.push(
            "when an instance comes or goes, keys between the others move too; the algorithm `ring` moves none"
                .to_owned(),
        ),
        HashAlgorithm::Jump(jump) if jump.buckets().is_none() => advice.push(
            "without `buckets` the order of the file decides, and only its last instance can leave without moving most keys"
                .to_owned(),
        ),
        HashAlgorithm::Slots(slots) if slots.table().is_none() => advice.push(
            "without a table of `slots` every change of the instances moves the bounds of all".to_owned(),
        ),
        _ => {}
    }
    advice
}

fn table(plan: &Plan, build_time: Duration, out: &mut dyn Write) -> Result<(), Failure> {
    let settings = serde_json::to_value(&plan.settings)?;
    let settings = settings.as_object().into_iter().flatten();
    let settings = settings.filter(|(name, _)| *name != "algorithm");
    let settings: Vec<String> = settings.map(|(k, v)| format!("{k}={v}")).collect();
    let takers = plan.instances.iter().filter(|row| row.relative.is_some());
    let (takers, all) = (takers.count(), plan.instances.len());
    let mut facts = vec![
        ("algorithm", plan.settings.algorithm.as_str().to_owned()),
        ("settings", settings.join(" ")),
        ("fingerprint", plan.fingerprint.clone()),
        (
            "instances",
            format!("{all}, of which {takers} take traffic"),
        ),
        ("points", plan.points.to_string()),
        (
            "shares",
            match plan.sample {
                Some(keys) => format!("counted over {keys} generated keys"),
                None => "exact".to_owned(),
            },
        ),
        ("cv", format!("{:.4}", plan.cv)),
        ("max/mean", format!("{:.4}", plan.max_over_mean)),
        (
            "memory",
            format!("at most {} KiB", plan.memory_bytes_at_most.div_ceil(1_024)),
        ),
        ("build time", format!("{build_time:.1?}")),
    ];
    let advice = plan.advice.iter();
    facts.extend(advice.map(|advice| ("advice", advice.clone())));
    write_facts(out, &facts)?;
    writeln!(out)?;
    let header = [
        "instance", "weight", "points", "share", "expected", "relative",
    ];
    let mut table = Table::new(header);
    for row in &plan.instances {
        table.row([
            row.instance.clone(),
            row.weight.to_string(),
            row.points.to_string(),
            percent(row.share),
            percent(row.expected),
            row.relative.map_or("-".to_owned(), |r| format!("{r:.3}")),
        ]);
    }
    table.write(out)?;
    Ok(())
}

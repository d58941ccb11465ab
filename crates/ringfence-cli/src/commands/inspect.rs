//! `ringfence inspect`

mod keys;
mod told;

use std::{io::Write, process::ExitCode};

use ringfence_core::Ring;
use ringfence_policy::RingSettings;

pub(super) use self::told::space;
use self::{
    keys::Spread,
    told::{Arcs, Point, Row, Told},
};
use crate::{
    args::InspectArgs,
    failure::Failure,
    input::{Algorithm, check_stdin, ring},
    measure::{Shares, evenness, expected},
    output::state_of,
    source::Source,
};

pub(crate) fn run(args: &InspectArgs, out: &mut dyn Write) -> Result<ExitCode, Failure> {
    let config = Algorithm::ring_of(&args.ring)?;
    let files = [Some(args.ring.instances.as_path()), args.keys.as_deref()];
    check_stdin(files.into_iter().flatten())?;
    let source = Source::parse(&args.ring.instances)?;
    let reading = source.read(args.ring.service.as_deref())?;
    let (pool, ring) = ring(&reading.fleet, &config);
    let shares = Shares::shown(&ring, args.sample);
    let expected = expected(&reading.fleet.instances);
    let evenness = evenness(&shares, &expected);
    let spread = args.keys.as_deref();
    let spread = spread
        .map(|path| Spread::of(path, &ring, usize::from(args.top)))
        .transpose()?;
    let rows = (0u32..).zip(pool.iter()).map(|(member, instance)| {
        let id = instance.id().as_str();
        let (share, expected) = (shares.get(id), expected.get(id).copied());
        Row {
            instance: id.to_owned(),
            address: instance.address().to_string(),
            zone: instance.zone().map(ToOwned::to_owned),
            version: instance.version().map(ToOwned::to_owned),
            weight: instance.weight().get(),
            state: state_of(instance),
            points: ring.points_of(member),
            share,
            expected: expected.unwrap_or(0.0),
            relative: expected.map(|expected| share / expected),
            keys: spread.as_ref().map(|spread| spread.of_owner(id)),
        }
    });
    let told = Told {
        source: source.told(),
        service: reading.fleet.service.clone(),
        origin: reading.provenance.origin().to_owned(),
        revision: reading.revision.map(|revision| revision.get()),
        settings: RingSettings::from(&config),
        fingerprint: ring.fingerprint().to_string(),
        points: ring.len(),
        capped: ring.is_capped(),
        shares: match shares.sample {
            Some(_) => "sample",
            None => "exact",
        },
        cv: evenness.cv,
        max_over_mean: evenness.max_over_mean,
        arcs: Arcs::of(&ring),
        instances: rows.collect(),
        rejected: reading.rejected.iter().map(Into::into).collect(),
        duplicates: reading.duplicates,
        ring: first_points(&ring, args.points),
        top: spread.map(Spread::into_top),
    };
    told.write(args.format, out)?;
    out.flush()?;
    // What was left out is shown all the same, with the reasons.
    reading.check(&source)?;
    Ok(ExitCode::SUCCESS)
}

/// The first points of a ring with the part of the circle that each has: what is between it and the one before.
fn first_points(ring: &Ring, count: usize) -> Vec<Point> {
    let last = ring.points().last().map_or(0, |(position, _)| position);
    let space = space(ring);
    let mut before = last;
    let point = |(position, member): (u64, u32)| {
        // Of the first one it is also what is behind the last one.
        let behind = position.wrapping_sub(before);
        let arc = match (before > position, space) {
            (true, Some(space)) if space != u64::MAX => position + (space - before) + 1,
            _ => behind,
        };
        before = position;
        Point {
            position: format!("{position:016x}"),
            instance: ring
                .member_id(member)
                .map(ToString::to_string)
                .unwrap_or_default(),
            arc: space.map(|space| told::part(arc, space)),
        }
    };
    ring.points().take(count).map(point).collect()
}

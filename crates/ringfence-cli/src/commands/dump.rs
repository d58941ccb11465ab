use std::{fs, io::Write, process::ExitCode};

use ringfence_policy::RingDump;

use crate::{
    args::DumpArgs,
    failure::Failure,
    input::{Algorithm, Fleet, ring},
};

pub(crate) fn run(args: &DumpArgs, out: &mut dyn Write) -> Result<ExitCode, Failure> {
    let config = Algorithm::ring_of(&args.ring)?;
    let fleet = Fleet::of(&args.ring)?;
    let (pool, ring) = ring(&fleet, &config);
    let mut dump = RingDump::of(&pool, &ring);
    if args.tags {
        dump = dump.with_tags(&fleet.instances);
    }
    let text = dump.to_json();
    match &args.output {
        Some(path) => fs::write(path, text).map_err(|error| Failure::at(path, None, error))?,
        None => out.write_all(text.as_bytes())?,
    }
    Ok(ExitCode::SUCCESS)
}

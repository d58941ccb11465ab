//! `ringfence report`

mod bars;
mod circle;
mod curve;
mod measured;
mod page;
mod svg;

use std::{fs, io::Write, process::ExitCode, time::SystemTime};

use self::measured::Measured;
use crate::{args::ReportArgs, clock::rfc3339, failure::Failure, input::Algorithm, source::Source};

pub(crate) fn run(args: &ReportArgs, out: &mut dyn Write) -> Result<ExitCode, Failure> {
    let config = Algorithm::ring_of(&args.ring)?;
    let source = Source::parse(&args.ring.instances)?;
    let reading = source.read(args.ring.service.as_deref())?;
    reading.check(&source)?;
    reading.fleet.check_takers(&args.ring.instances)?;
    let measured = Measured::of(&reading.fleet, &config, args);
    let html = page::of(&page::About {
        source: &source.told(),
        service: &reading.fleet.service,
        made_at: &rfc3339(SystemTime::now()),
        rejected: reading.rejected.len(),
        measured: &measured,
    });
    if args.file.as_os_str() == "-" {
        out.write_all(html.as_bytes())?;
    } else {
        let written = fs::write(&args.file, html);
        written.map_err(|error| Failure::at(&args.file, None, error))?;
    }
    Ok(ExitCode::SUCCESS)
}

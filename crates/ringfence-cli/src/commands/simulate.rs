mod change;
mod mapper;
mod step;

use std::{
    io::Write,
    path::{Path, PathBuf},
    process::ExitCode,
};

use self::{
    change::Change,
    mapper::{Ids, Mapper},
    step::Step,
};
use crate::{
    args::{Format, SimulateArgs},
    failure::Failure,
    input::{Algorithm, Fleet, Keys, check_stdin, generated},
    output::{Table, percent, printable, write_facts},
    progress::Progress,
};

/// Most pairs of instances in a table for people.
const MAX_PAIRS: usize = 20;

pub(crate) fn run(args: &SimulateArgs, out: &mut dyn Write) -> Result<ExitCode, Failure> {
    let algorithm = Algorithm::of(&args.ring)?;
    let fleets = fleets(args)?;
    let mut ids = Ids::default();
    let mappers: Vec<Mapper> = fleets
        .iter()
        .map(|(_, fleet)| Mapper::new(&algorithm, fleet, &mut ids))
        .collect();
    let pairs = fleets.windows(2).zip(mappers.windows(2));
    let mut steps: Vec<Step> = pairs
        .filter_map(|(fleets, mappers)| match (fleets, mappers) {
            ([(_, before), (label, after)], [old, new]) => {
                Some(Step::new(label, (before, old), (after, new), &ids))
            }
            _ => None,
        })
        .collect();
    let mut owners = Vec::with_capacity(mappers.len());
    let generated_keys = args.keys.is_none().then_some(args.generate);
    let mut progress = Progress::new("keys", generated_keys);
    let mut take = |key: &[u8]| {
        progress.step();
        owners.clear();
        owners.extend(mappers.iter().map(|mapper| mapper.owner(key)));
        for (step, pair) in steps.iter_mut().zip(owners.windows(2)) {
            if let [from, to] = pair {
                step.count(*from, *to);
            }
        }
    };
    match &args.keys {
        Some(path) => {
            let mut keys = Keys::open(path)?;
            while let Some(key) = keys.next()? {
                take(key);
            }
        }
        None => (0..args.generate).for_each(|n| take(generated(args.seed, n).as_bytes())),
    }
    drop(progress);
    match args.format {
        Format::Table => table(&steps, &ids, out)?,
        Format::Json => {
            let steps: Vec<_> = steps.iter().map(|step| step.told(&ids)).collect();
            serde_json::to_writer_pretty(&mut *out, &steps)?;
            writeln!(out)?;
        }
        Format::Csv => csv(&steps, &ids, out)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// What there is before the first change and after each one.
fn fleets(args: &SimulateArgs) -> Result<Vec<(String, Fleet)>, Failure> {
    let service = args.ring.service.as_deref();
    let added = args
        .changes
        .iter()
        .filter_map(|change| change.strip_prefix("add:"));
    let files = [
        Some(&args.ring.instances),
        args.to.as_ref(),
        args.keys.as_ref(),
    ];
    let files = files.into_iter().flatten().map(PathBuf::as_path);
    check_stdin(files.chain(added.map(Path::new)))?;
    let first = Fleet::of(&args.ring)?;
    let mut fleets = vec![(String::new(), first.clone())];
    if let Some(path) = &args.to {
        let label = format!("to {}", path.display());
        fleets.push((label, Fleet::read(path, service)?));
    }
    let mut current = first;
    for text in &args.changes {
        current = Change::parse(text, service)?.apply(&current, text)?;
        fleets.push((text.clone(), current.clone()));
    }
    Ok(fleets)
}

fn table(steps: &[Step], ids: &Ids, out: &mut dyn Write) -> Result<(), Failure> {
    for (place, step) in steps.iter().enumerate() {
        let told = step.told(ids);
        if place > 0 {
            writeln!(out)?;
        }
        let counted =
            |keys: u64, share: f64| format!("{keys} of {}, {}", told.keys, percent(share));
        let mut facts = vec![
            ("change", told.change.to_owned()),
            ("moved", counted(told.moved, told.moved_share)),
            ("ideal", percent(told.ideal_share)),
            (
                "between unchanged",
                counted(told.between_unchanged, told.between_unchanged_share),
            ),
        ];
        if let Some(exact) = told.exact_share {
            facts.insert(2, ("exact", percent(exact)));
        }
        write_facts(out, &facts)?;
        if told.moves.is_empty() {
            continue;
        }
        writeln!(out)?;
        let mut table = Table::new(["from", "to", "keys", "share"]);
        for pair in told.moves.iter().take(MAX_PAIRS) {
            let id = |id: Option<&str>| id.map_or("-".to_owned(), printable);
            let (keys, share) = (pair.keys.to_string(), percent(pair.share));
            table.row([id(pair.from), id(pair.to), keys, share]);
        }
        table.write(out)?;
        if let Some(more @ 1..) = told.moves.len().checked_sub(MAX_PAIRS) {
            writeln!(out, "and {more} more pairs; --format csv has all")?;
        }
    }
    Ok(())
}

fn csv(steps: &[Step], ids: &Ids, out: &mut dyn Write) -> Result<(), Failure> {
    let mut writer = csv::Writer::from_writer(out);
    writer.write_record(["change", "from", "to", "keys", "share", "between_unchanged"])?;
    for step in steps {
        let told = step.told(ids);
        for pair in &told.moves {
            let (keys, share) = (pair.keys.to_string(), pair.share.to_string());
            let between = pair.between_unchanged.to_string();
            let (from, to) = (pair.from.unwrap_or_default(), pair.to.unwrap_or_default());
            writer.write_record([told.change, from, to, &keys, &share, &between])?;
        }
    }
    writer.flush()?;
    Ok(())
}

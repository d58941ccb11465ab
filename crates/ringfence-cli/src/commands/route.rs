use std::{
    io::{self, IsTerminal as _, Write},
    process::ExitCode,
};

use ringfence_core::{Instance, Pool, Ring, ViewConfig};
use serde::Serialize;

use crate::{
    args::{Format, RouteArgs},
    failure::Failure,
    input::{Algorithm, Fleet, Keys, check_stdin, ring},
    output::printable,
    progress::Progress,
};

pub(crate) fn run(args: &RouteArgs, out: &mut dyn Write) -> Result<ExitCode, Failure> {
    let config = Algorithm::ring_of(&args.ring)?;
    check_stdin([args.ring.instances.as_path(), &args.keys])?;
    let fleet = Fleet::of(&args.ring)?;
    fleet.check_takers(&args.ring.instances)?;
    let (pool, ring) = ring(&fleet, &config);
    let usable = usable(&pool, args.ignore_health);
    let mut keys = Keys::open(&args.keys)?;
    let mut sink = Sink::new(args, &pool, out)?;
    let mut walk = Vec::with_capacity(1 + usize::from(args.walk));
    // Where rows go to the same terminal, they are the progress.
    let is_seen = io::stdout().is_terminal();
    let mut progress = (!is_seen).then(|| Progress::new("keys", None));
    loop {
        // Who writes keys into a pipe one by one waits for their owners.
        if keys.must_read() {
            sink.flush()?;
        }
        let Some(key) = keys.next()? else {
            break;
        };
        if let Some(progress) = &mut progress {
            progress.step();
        }
        walk.clear();
        walk.extend(owners(&ring, key, &usable).take(1 + usize::from(args.walk)));
        let ids = walk.iter().filter_map(|&member| pool.instance(member));
        sink.write(key, &mut ids.map(|instance| instance.id().as_str()))?;
    }
    sink.finish()
}

/// Which members may own keys.
fn usable(pool: &Pool, ignore_health: bool) -> Box<[bool]> {
    let count = |counts: fn(&Instance) -> bool| pool.iter().filter(|i| counts(i)).count();
    let (takers, healthy) = (count(Instance::takes_traffic), count(Instance::is_usable));
    // As a client does it by default.
    let threshold = usize::from(ViewConfig::default().panic_threshold());
    let is_panic = healthy * 100 < takers * threshold;
    if is_panic && !ignore_health {
        // Where nobody reads it, the owners are told all the same.
        let _ = writeln!(
            io::stderr(),
            "ringfence: health is ignored: only {healthy} of {takers} instances are healthy"
        );
    }
    let all = ignore_health || is_panic;
    let is_usable = |i: &Instance| i.takes_traffic() && (all || i.is_healthy());
    pool.iter().map(|instance| is_usable(instance)).collect()
}

fn owners<'a>(ring: &'a Ring, key: &'a [u8], usable: &'a [bool]) -> impl Iterator<Item = u32> + 'a {
    ring.walk_where(ring.config().hash_key(key), |member| {
        usable.get(member as usize).copied().unwrap_or_default()
    })
}

/// Where rows go.
enum Sink<'a> {
    Csv {
        writer: Box<csv::Writer<&'a mut dyn Write>>,
        columns: usize,
    },
    Json(&'a mut dyn Write),
    Table {
        out: &'a mut dyn Write,
        columns: usize,
        width: usize,
    },
}

#[derive(Serialize)]
struct Row<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key_hex: Option<String>,
    owner: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    next: Vec<&'a str>,
}

impl<'a> Sink<'a> {
    fn new(args: &RouteArgs, pool: &Pool, out: &'a mut dyn Write) -> Result<Self, Failure> {
        let next = (1..=args.walk).map(|n| format!("next_{n}"));
        let header: Vec<String> = ["owner".to_owned()].into_iter().chain(next).collect();
        let columns = header.len();
        Ok(match args.format {
            Format::Csv => {
                let mut writer = Box::new(csv::Writer::from_writer(out));
                writer.write_record(["key".to_owned()].iter().chain(&header))?;
                Self::Csv { writer, columns }
            }
            Format::Json => Self::Json(out),
            Format::Table => {
                let ids = pool.iter().map(|i| printable(i.id().as_str()));
                let lengths = ids.map(|id| id.chars().count());
                let width = lengths.chain(header.iter().map(String::len)).max();
                let mut sink = Self::Table {
                    out,
                    columns,
                    width: width.unwrap_or_default(),
                };
                sink.write(b"key", &mut header.iter().map(String::as_str))?;
                sink
            }
        })
    }

    fn write(&mut self, key: &[u8], ids: &mut dyn Iterator<Item = &str>) -> Result<(), Failure> {
        match self {
            Self::Csv { writer, columns } => {
                writer.write_field(key)?;
                for _ in 0..*columns {
                    writer.write_field(ids.next().unwrap_or_default())?;
                }
                writer.write_record(None::<&[u8]>)?;
            }
            Self::Json(out) => {
                let text = std::str::from_utf8(key).ok();
                let hex = || key.iter().map(|byte| format!("{byte:02x}")).collect();
                let row = Row {
                    key: text,
                    key_hex: text.is_none().then(hex),
                    owner: ids.next().unwrap_or_default(),
                    next: ids.collect(),
                };
                serde_json::to_writer(&mut **out, &row)?;
                out.write_all(b"\n")?;
            }
            Self::Table {
                out,
                columns,
                width,
            } => {
                for _ in 0..*columns {
                    let id = printable(ids.next().unwrap_or_default());
                    write!(out, "{id:<width$}  ")?;
                }
                // At the end, since nobody knows how long the longest key is.
                writeln!(out, "{}", printable(&String::from_utf8_lossy(key)))?;
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Failure> {
        match self {
            // It flushes what is below it too.
            Self::Csv { writer, .. } => writer.flush()?,
            Self::Json(out) | Self::Table { out, .. } => out.flush()?,
        }
        Ok(())
    }

    fn finish(mut self) -> Result<ExitCode, Failure> {
        self.flush()?;
        Ok(ExitCode::SUCCESS)
    }
}

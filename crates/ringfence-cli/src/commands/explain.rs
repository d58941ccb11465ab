//! `ringfence explain`

mod request;

use std::{io::Write, process::ExitCode, time::Duration};

use ringfence_balancer::{Balancer, BalancerConfig};
use ringfence_policy::{Explanation, RequestHead, TagAuthority};
use serde::Serialize;

use crate::{
    args::{ExplainArgs, Format},
    color::{GOOD, paint},
    failure::Failure,
    input::{Algorithm, check_stdin, context, good_policy},
    output::{printable, write_facts},
    source::{Source, runtime},
};

/// How long the first list may take.
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Serialize)]
struct Told {
    source: String,
    service: String,
    /// Of the ring of all instances.
    fingerprint: String,
    #[serde(flatten)]
    explanation: Explanation,
    /// Who gets the request first; nobody knows it of a request without a key.
    #[serde(rename = "final")]
    owner: Option<Instance>,
}

#[derive(Serialize)]
struct Instance {
    id: String,
    address: String,
}

pub(crate) fn run(args: &ExplainArgs, out: &mut dyn Write) -> Result<ExitCode, Failure> {
    let ring = Algorithm::ring_of(&args.ring)?;
    let files = [Some(args.ring.instances.as_path()), args.policy.as_deref()];
    check_stdin(files.into_iter().flatten())?;
    let authority = TagAuthority::new();
    let context = context(&args.context, &authority)?;
    let policy = args.policy.as_deref();
    let policy = policy.map(|path| good_policy(path, &context)).transpose()?;
    let request = request::of(args, &authority)?;
    let source = Source::parse(&args.ring.instances)?;

    let mut config = BalancerConfig::default().with_ring(ring);
    config = config.with_ready_timeout(PATIENCE).map_err(Failure::new)?;
    if let Some(attempts) = args.max_attempts {
        let set = config.with_max_attempts(attempts);
        config = set.map_err(|error| Failure::new(format_args!("--max-attempts: {error}")))?;
    }
    let runtime = runtime()?;
    let told = runtime.block_on(async {
        let (discovery, key) = source.connect(args.ring.service.as_deref())?;
        let mut builder = Balancer::builder(discovery, key.clone()).with_config(config);
        if let Some(policy) = policy {
            builder = builder.with_policy(policy);
        }
        let balancer = builder.build().map_err(Failure::new)?;
        let away = |error| Failure::unreached(format_args!("{}: {error}", source.told()));
        balancer.ready().await.map_err(away)?;
        let told = balancer.read(|current| {
            let explanation = current.explain(&RequestHead::of(&request));
            let snapshot = current.view().snapshot();
            let first = explanation.candidates.first();
            let owner = first
                .and_then(|id| snapshot.get(id))
                .map(|instance| Instance {
                    id: instance.id().to_string(),
                    address: instance.address().to_string(),
                });
            Told {
                source: source.told(),
                service: key.to_string(),
                fingerprint: current.view().whole_ring().fingerprint().to_string(),
                explanation,
                owner,
            }
        });
        told.map_err(Failure::new)
    });
    runtime.shutdown_background();
    write(&told?, args.format, out)?;
    Ok(ExitCode::SUCCESS)
}

fn write(told: &Told, format: Format, out: &mut dyn Write) -> Result<(), Failure> {
    match format {
        Format::Table => {
            let facts = [
                ("source  ", told.source.clone()),
                ("service ", told.service.clone()),
                ("ring    ", told.fingerprint.clone()),
            ];
            write_facts(out, &facts)?;
            // It has escaped what came from outside.
            write!(out, "{}", told.explanation)?;
            if let Some(owner) = &told.owner {
                let owner = printable(&format!("{} at {}", owner.id, owner.address));
                writeln!(out, "final     {}", paint(GOOD, owner))?;
            }
        }
        Format::Json => {
            serde_json::to_writer_pretty(&mut *out, told)?;
            writeln!(out)?;
        }
        Format::Csv => {
            let mut writer = csv::Writer::from_writer(out);
            writer.write_record(["step", "instance", "verdict"])?;
            for (step, passed) in (1..).zip(&told.explanation.walk) {
                let step: u32 = step;
                writer.write_record([&step.to_string(), &passed.instance, passed.verdict])?;
            }
            writer.flush()?;
        }
    }
    Ok(())
}

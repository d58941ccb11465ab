//! `ringfence explain`

mod request;
mod unread;

use std::{borrow::Cow, io::Write, process::ExitCode, sync::Arc, time::Duration};

use ringfence_balancer::{Balancer, BalancerConfig, Current};
use ringfence_core::did_you_mean;
use ringfence_policy::{CompiledPolicy, Explanation, RequestHead, TagAuthority};
use serde::Serialize;

use self::unread::unread;
use crate::{
    args::{ExplainArgs, Format},
    color::{GOOD, paint},
    failure::Failure,
    input::{Algorithm, check_stdin, check_without_policy, context, good_policy, warn_of_unnamed},
    output::{printable, write_facts},
    source::{Source, runtime, warn},
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
    /// Who gets the request first; nobody knows it of a request without a key, nor of one that the baseline decides.
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
    if args.policy.is_none() {
        check_without_policy(&args.context, args.gray.is_some())?;
    }
    let authority = TagAuthority::new();
    let context = context(&args.context, &authority)?;
    let policy = args.policy.as_deref();
    let policy = policy.map(|path| good_policy(path, &context)).transpose()?;
    let policy = policy.map(Arc::new);
    if let Some(policy) = &policy {
        check_release(args, policy)?;
        warn_of_unnamed(&args.context, std::slice::from_ref(policy));
    }
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
        if let Some(policy) = &policy {
            builder = builder.with_policy(policy.clone());
        }
        let balancer = builder.build().map_err(Failure::new)?;
        let away = |error| Failure::unreached(format_args!("{}: {error}", source.told()));
        balancer.ready().await.map_err(away)?;
        let is_empty = |current: Current<'_>| current.view().snapshot().is_empty();
        if balancer.read(is_empty).map_err(Failure::new)? {
            return Err(source.without_instances(&key.to_string()));
        }
        let told = balancer.read(|current| {
            let explanation = current.explain(&RequestHead::of(&request));
            let snapshot = current.view().snapshot();
            let first = explanation.candidates.first();
            let first = first.filter(|_| !explanation.is_suggested);
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
    let told = told?;
    for told in unread(args, policy.as_deref(), &told.explanation) {
        warn(told);
    }
    write(&told, args.format, out)?;
    Ok(ExitCode::SUCCESS)
}

/// Fails where the policy has no release of the name that was given.
fn check_release(args: &ExplainArgs, policy: &CompiledPolicy) -> Result<(), Failure> {
    let releases = &policy.document().gray;
    if let Some(name) = args
        .gray
        .as_ref()
        .filter(|name| !releases.contains_key(*name))
    {
        let hint = did_you_mean(name, releases.keys().map(String::as_str));
        let file = args
            .policy
            .as_deref()
            .map(|path| path.display().to_string());
        let file = file.unwrap_or_default();
        return Err(Failure::new(format_args!(
            "--gray {name}: {file} has no such release{hint}"
        )));
    }
    Ok(())
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
                let verdict = verdict(passed.verdict, told.explanation.is_suggested);
                writer.write_record([&*step.to_string(), &*passed.instance, &*verdict])?;
            }
            writer.flush()?;
        }
    }
    Ok(())
}

/// A row has no head that says who decides.
fn verdict(verdict: &str, is_suggested: bool) -> Cow<'_, str> {
    if is_suggested && verdict.starts_with("candidate") {
        Cow::Owned(format!("would be a {verdict}"))
    } else {
        Cow::Borrowed(verdict)
    }
}

//! A policy, and what its program would give it.

use std::{fs, path::Path, sync::Arc};

use ringfence_policy::{
    CompiledPolicy, KeyFrom, KeySecret, KeySource, PolicyContext, PolicyDocument, PolicyError,
    TagAuthority,
};

use super::read_text;
use crate::{args::ContextArgs, failure::Failure, source::warn};

/// What the arguments say of the program, with whose tokens are believed.
pub(crate) fn context(
    args: &ContextArgs,
    authority: &TagAuthority,
) -> Result<PolicyContext, Failure> {
    let mut context = PolicyContext::new().with_authority(authority);
    if let Some(zone) = &args.zone {
        context = context.with_zone(zone);
    }
    if let Some(region) = &args.region {
        context = context.with_region(region);
    }
    for name in &args.functions {
        context = context.with_function(name, |_| None);
    }
    for text in &args.secrets {
        let fault = || Failure::new("--secret: expected NAME=FILE");
        let (name, file) = text.split_once('=').ok_or_else(fault)?;
        context = context.with_secret(name, secret(Path::new(file))?);
    }
    Ok(context)
}

/// Fails where something is said that a policy alone reads, and there is none.
pub(crate) fn check_without_policy(args: &ContextArgs, has_release: bool) -> Result<(), Failure> {
    let given = [
        ("--gray", has_release),
        ("--zone", args.zone.is_some()),
        ("--region", args.region.is_some()),
        ("--secret", !args.secrets.is_empty()),
        ("--function", !args.functions.is_empty()),
    ];
    match given.into_iter().find(|(_, is_given)| *is_given) {
        Some((option, _)) => Err(Failure::new(format_args!(
            "{option}: it is a policy that reads this: add --policy FILE"
        ))),
        None => Ok(()),
    }
}

/// Tells of secrets and functions that no rule of the policies names.
pub(crate) fn warn_of_unnamed(args: &ContextArgs, policies: &[Arc<CompiledPolicy>]) {
    let rules = || policies.iter().flat_map(|policy| &policy.document().rules);
    for text in &args.secrets {
        let name = text.split_once('=').map_or(&**text, |(name, _)| name);
        if !rules().any(|rule| rule.keyed_hash.as_deref() == Some(name)) {
            warn(format_args!("--secret {name}: no rule names it"));
        }
    }
    for name in &args.functions {
        if !rules().any(|rule| calls(&rule.key, name)) {
            warn(format_args!("--function {name}: no rule names it"));
        }
    }
}

fn calls(sources: &[KeySource], function: &str) -> bool {
    sources.iter().any(|source| match &source.from {
        KeyFrom::Function(name) => name == function,
        KeyFrom::All(parts) => calls(parts, function),
        _ => false,
    })
}

/// No message shows anything of what is in the file.
fn secret(path: &Path) -> Result<KeySecret, Failure> {
    let bytes = fs::read(path).map_err(|error| Failure::at(path, None, error))?;
    if let Ok(bytes) = <[u8; 16]>::try_from(&*bytes) {
        return Ok(KeySecret::new(bytes));
    }
    let digits = bytes.trim_ascii();
    let byte = |pair: &[u8]| {
        let text = std::str::from_utf8(pair).ok()?;
        let is_hex = text.bytes().all(|digit| digit.is_ascii_hexdigit());
        is_hex.then(|| u8::from_str_radix(text, 16).ok()).flatten()
    };
    let bytes: Option<Vec<u8>> = digits.chunks(2).map(byte).collect();
    let bytes = bytes.filter(|_| digits.len() == 32);
    let bytes = bytes.and_then(|bytes| <[u8; 16]>::try_from(bytes).ok());
    let fault = || Failure::at(path, None, "expected 16 bytes or 32 hexadecimal digits");
    bytes.map(KeySecret::new).ok_or_else(fault)
}

/// Reads and compiles a policy. The inner error is one of the document.
pub(crate) fn policy(
    path: &Path,
    context: &PolicyContext,
) -> Result<Result<CompiledPolicy, PolicyError>, Failure> {
    let text = read_text(path)?;
    Ok(PolicyDocument::parse_and_compile(&text, context))
}

/// The same where a policy that is wrong is a wrong input.
pub(crate) fn good_policy(path: &Path, context: &PolicyContext) -> Result<CompiledPolicy, Failure> {
    policy(path, context)?.map_err(|error| {
        let part = match error.path() {
            "" => String::new(),
            part => format!("{part}: "),
        };
        Failure::at(path, error.line(), format_args!("{part}{}", error.reason()))
    })
}

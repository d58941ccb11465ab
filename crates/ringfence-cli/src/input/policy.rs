//! A policy, and what its program would give it.

use std::{fs, path::Path};

use ringfence_policy::{
    CompiledPolicy, KeySecret, PolicyContext, PolicyDocument, PolicyError, TagAuthority,
};

use super::read_text;
use crate::{args::ContextArgs, failure::Failure};

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

use http::HeaderName;
use ringfence_core::did_you_mean;

use crate::{
    KeyFrom, KeySource, PolicyContext, PolicyError, Rule,
    keys::{KeyFinder, NormalisedSource, Source},
};

/// Sources of one rule, and of one combination.
const MAX_SOURCES: usize = 16;
/// Combinations of combinations.
const MAX_DEPTH: usize = 4;
const DEFAULT_MAX_LEN: u32 = 1_024;
const LONGEST: u32 = 1_048_576;

pub(super) fn compile(
    rule: &Rule,
    path: &str,
    context: &PolicyContext,
) -> Result<KeyFinder, PolicyError> {
    let max_len = rule.limits.max_key_len.unwrap_or(DEFAULT_MAX_LEN);
    if !(1..=LONGEST).contains(&max_len) {
        let reason = format!("{max_len} is out of range, allowed is 1..={LONGEST}");
        return Err(PolicyError::new(
            format!("{path}.limits.max_key_len"),
            reason,
        ));
    }
    let secret = match &rule.keyed_hash {
        None => None,
        Some(name) => Some(context.secrets.get(name).cloned().ok_or_else(|| {
            let known = context.secrets.keys().map(String::as_str);
            let reason = format!(
                "the program gave no secret `{name}`{}",
                did_you_mean(name, known)
            );
            PolicyError::new(format!("{path}.keyed_hash"), reason)
        })?),
    };
    let path = format!("{path}.key");
    let sources = if rule.key.is_empty() {
        // A program that sets a key wants it used.
        sources(&[KeySource::extension()], &path, context, 0)?
    } else {
        sources(&rule.key, &path, context, 0)?
    };
    Ok(KeyFinder {
        sources,
        max_len: usize::try_from(max_len).unwrap_or(usize::MAX),
        secret,
    })
}

fn sources(
    written: &[KeySource],
    path: &str,
    context: &PolicyContext,
    depth: usize,
) -> Result<Box<[NormalisedSource]>, PolicyError> {
    if written.len() > MAX_SOURCES {
        let reason = format!("{} are too many, allowed are {MAX_SOURCES}", written.len());
        return Err(PolicyError::new(path, reason));
    }
    let checked = written.iter().enumerate().map(|(i, written)| {
        Ok(NormalisedSource {
            source: source(&written.from, &format!("{path}[{i}]"), context, depth)?,
            normalise: written.normalise.as_slice().into(),
        })
    });
    checked.collect()
}

fn source(
    from: &KeyFrom,
    path: &str,
    context: &PolicyContext,
    depth: usize,
) -> Result<Source, PolicyError> {
    let named = |place: &str, name: &str| match name.trim() {
        "" => Err(PolicyError::new(
            format!("{path}.{place}"),
            "a name is missing",
        )),
        name => Ok(Box::<str>::from(name)),
    };
    Ok(match from {
        KeyFrom::Extension => Source::Extension,
        KeyFrom::Claim(name) => Source::Claim(named("claim", name)?),
        KeyFrom::Header(name) => {
            let name = header_name(name, &format!("{path}.header"))?;
            if name.as_str().ends_with("-bin") {
                Source::Binary(name)
            } else {
                Source::Header(name)
            }
        }
        KeyFrom::Cookie(name) => Source::Cookie(named("cookie", name)?),
        KeyFrom::Query(name) => Source::Query(named("query", name)?),
        KeyFrom::PathSegment(index) => Source::PathSegment(usize::from(*index)),
        KeyFrom::Peer => Source::Peer,
        KeyFrom::Function(name) => match context.functions.get(name) {
            Some(function) => Source::Function(name.as_str().into(), function.clone()),
            None => {
                let known = context.functions.keys().map(String::as_str);
                let reason = format!(
                    "the program gave no function `{name}`{}",
                    did_you_mean(name, known)
                );
                return Err(PolicyError::new(format!("{path}.function"), reason));
            }
        },
        KeyFrom::All(parts) => {
            let path = format!("{path}.all");
            if parts.len() < 2 {
                return Err(PolicyError::new(
                    path,
                    "a combination needs at least two sources",
                ));
            }
            if depth == MAX_DEPTH {
                return Err(PolicyError::new(path, "combinations are nested too deeply"));
            }
            Source::All(sources(parts, &path, context, depth + 1)?)
        }
    })
}

pub(super) fn header_name(name: &str, path: &str) -> Result<HeaderName, PolicyError> {
    HeaderName::from_bytes(name.trim().as_bytes())
        .map_err(|_| PolicyError::new(path, format!("`{}` is no header name", name.escape_debug())))
}

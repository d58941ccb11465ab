//! The request that the arguments describe.

use std::collections::BTreeMap;

use http::{HeaderName, HeaderValue, Request};
use ringfence_policy::{SampleRequest, TagAuthority};

use crate::{args::ExplainArgs, failure::Failure};

/// On whose account a gray release is entered.
const WHO: &str = "ringfence explain";

pub(super) fn of(args: &ExplainArgs, authority: &TagAuthority) -> Result<Request<()>, Failure> {
    let sample = SampleRequest {
        method: args.method.clone(),
        path: args.path.clone(),
        tags: pairs("--tag", &args.tags)?,
        key: args.key.clone(),
        claims: pairs("--claim", &args.claims)?,
        peer: args.peer,
        ..SampleRequest::default()
    };
    let request = sample.to_request();
    let mut request = request.map_err(|error| Failure::new(format_args!("--{error}")))?;
    // One may be there several times, which a sample cannot say.
    for header in &args.headers {
        let (name, value) = header_of(header)?;
        let added = request.headers_mut().try_append(name, value);
        added.map_err(|error| Failure::new(format_args!("--header: {error}")))?;
    }
    if let Some(release) = &args.gray {
        let token = authority.gray(release.as_str(), WHO);
        request.extensions_mut().insert(token);
    }
    Ok(request)
}

fn pairs(option: &str, given: &[String]) -> Result<BTreeMap<String, String>, Failure> {
    let mut pairs = BTreeMap::new();
    for text in given {
        let pair = text.split_once('=');
        let pair = pair.filter(|(name, value)| !name.is_empty() && !value.is_empty());
        let fault = || Failure::new(format_args!("{option} {text}: expected NAME=VALUE"));
        let (name, value) = pair.ok_or_else(fault)?;
        if pairs.insert(name.to_owned(), value.to_owned()).is_some() {
            let fault = format_args!("{option} {name}: it is there twice");
            return Err(Failure::new(fault));
        }
    }
    Ok(pairs)
}

fn header_of(text: &str) -> Result<(HeaderName, HeaderValue), Failure> {
    // The whole text is not repeated: headers may hold tokens.
    let fault = |fault: &dyn std::fmt::Display| Failure::new(format_args!("--header: {fault}"));
    let pair = text.split_once(':').or_else(|| text.split_once('='));
    let (name, value) = pair.ok_or_else(|| fault(&"expected NAME: VALUE"))?;
    let name = HeaderName::try_from(name.trim()).map_err(|error| fault(&error))?;
    let value = HeaderValue::try_from(value.trim()).map_err(|error| fault(&error))?;
    Ok((name, value))
}

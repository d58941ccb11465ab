//! The request that the arguments describe.

use http::{HeaderName, HeaderValue, Method, Request, Uri};
use ringfence_core::RequestTags;
use ringfence_policy::{PeerAddress, RoutingKey, TagAuthority, VerifiedClaims};

use crate::{args::ExplainArgs, failure::Failure};

/// On whose account a gray release is entered.
const WHO: &str = "ringfence explain";

pub(super) fn of(args: &ExplainArgs, authority: &TagAuthority) -> Result<Request<()>, Failure> {
    let mut request = Request::new(());
    let method = Method::from_bytes(args.method.as_bytes());
    *request.method_mut() =
        method.map_err(|error| Failure::new(format_args!("--method: {error}")))?;
    let uri = args.path.parse::<Uri>();
    let uri = uri.map_err(|error| Failure::new(format_args!("--path: {error}")))?;
    if !uri.path().starts_with('/') {
        return Err(Failure::new("--path: expected a path that begins with /"));
    }
    *request.uri_mut() = uri;
    for header in &args.headers {
        let (name, value) = header_of(header)?;
        request.headers_mut().append(name, value);
    }
    let extensions = request.extensions_mut();
    if let Some(key) = &args.key {
        extensions.insert(RoutingKey::from(key.clone()));
    }
    if !args.tags.is_empty() {
        let mut tags = RequestTags::new();
        for tag in &args.tags {
            let (name, value) = pair("--tag", tag)?;
            tags = match name {
                "version" => tags.with_version(value),
                "zone" => tags.with_zone(value),
                "region" => tags.with_region(value),
                "tenant" => tags.with_tenant(value),
                name => tags.with_tag(name, value),
            };
        }
        extensions.insert(tags);
    }
    if let Some(release) = &args.gray {
        extensions.insert(authority.gray(release.as_str(), WHO));
    }
    let claims = args.claims.iter().map(|claim| pair("--claim", claim));
    let claims: Vec<_> = claims.collect::<Result<_, _>>()?;
    if !claims.is_empty() {
        extensions.insert(claims.into_iter().collect::<VerifiedClaims>());
    }
    if let Some(peer) = args.peer {
        extensions.insert(PeerAddress::new(peer));
    }
    Ok(request)
}

fn pair<'a>(option: &str, text: &'a str) -> Result<(&'a str, &'a str), Failure> {
    let fault = || Failure::new(format_args!("{option} {text}: expected NAME=VALUE"));
    text.split_once('=').ok_or_else(fault)
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

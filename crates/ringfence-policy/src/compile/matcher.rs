//! Which requests a rule is for.

use std::cell::OnceCell;

use http::{HeaderMap, HeaderName, HeaderValue, Method, header::GetAll};
use ringfence_core::Attribute;

use super::{
    index::Wish,
    key::header_name,
    text::{RegexBudget, Text},
};
use crate::{PolicyError, RequestHead, RequestMatch, TextMatch};

/// Headers that are looked up once for all rules.
const CACHED: usize = 16;

/// Checked conditions; all must hold.
#[derive(Debug)]
pub(crate) struct Matcher {
    methods: Box<[Method]>,
    path: Option<Text>,
    /// The path of a gRPC call, whole or up to the method.
    grpc: Option<Text>,
    headers: Box<[(HeaderSlot, Text)]>,
    pub(super) tags: Box<[(Attribute, Text)]>,
}

impl Matcher {
    pub(super) fn of(
        written: &RequestMatch,
        path: &str,
        names: &mut HeaderNames,
        budget: &RegexBudget,
    ) -> Result<Self, PolicyError> {
        let method = |(i, name): (usize, &String)| {
            method(name).map_err(|reason| PolicyError::new(format!("{path}.methods[{i}]"), reason))
        };
        let header = |(name, text): (&String, &TextMatch)| {
            let path = format!("{path}.headers.{name}");
            let slot = names.slot(header_name(name, &path)?);
            Ok((slot, Text::of(text, &path, budget)?))
        };
        let tag = |(name, text): (&String, &TextMatch)| {
            Ok((
                Attribute::named(name),
                Text::of(text, &format!("{path}.tags.{name}"), budget)?,
            ))
        };
        let of_path = |text| Text::of(text, &format!("{path}.path"), budget);
        Ok(Self {
            methods: written
                .methods
                .iter()
                .enumerate()
                .map(method)
                .collect::<Result<_, _>>()?,
            path: written.path.as_ref().map(of_path).transpose()?,
            grpc: grpc(written, path)?,
            tags: written
                .tags
                .iter()
                .map(tag)
                .collect::<Result<_, PolicyError>>()?,
            headers: written
                .headers
                .iter()
                .map(header)
                .collect::<Result<_, PolicyError>>()?,
        })
    }

    /// What it wants exactly, to find it by.
    pub(super) fn wish(&self) -> Wish<'_> {
        match (&self.path, &self.grpc) {
            (_, Some(Text::Exact(path))) | (Some(Text::Exact(path)), _) => return Wish::Path(path),
            (_, Some(Text::Prefix(service))) => return Wish::Service(service),
            _ => {}
        }
        let mut headers = self.headers.iter();
        let exact = headers.find_map(|(slot, text)| match text {
            Text::Exact(value) => Some(Wish::Header(*slot, value)),
            _ => None,
        });
        exact.unwrap_or(match &self.path {
            Some(Text::Prefix(prefix)) => Wish::Prefix(prefix),
            _ => Wish::Nothing,
        })
    }

    /// `tag` gives the trusted value of an attribute.
    pub(crate) fn accepts<'t>(
        &self,
        head: &RequestHead<'_>,
        headers: &HeaderCache<'_>,
        tag: impl Fn(&Attribute) -> Option<&'t str>,
    ) -> bool {
        let path = Some(head.path.as_bytes());
        let fits = |text: &Option<Text>| text.as_ref().is_none_or(|text| text.accepts(path));
        (self.methods.is_empty() || self.methods.contains(head.method))
            && fits(&self.grpc)
            && fits(&self.path)
            && self
                .headers
                .iter()
                .all(|(slot, text)| headers.accepts(*slot, text))
            && self
                .tags
                .iter()
                .all(|(attribute, text)| text.accepts(tag(attribute).map(str::as_bytes)))
    }
}

/// The methods that everybody sends in upper case; others a program may have made up.
const STANDARD: [Method; 9] = [
    Method::GET,
    Method::HEAD,
    Method::POST,
    Method::PUT,
    Method::DELETE,
    Method::CONNECT,
    Method::OPTIONS,
    Method::TRACE,
    Method::PATCH,
];

fn method(name: &str) -> Result<Method, String> {
    let name = name.trim();
    let method = Method::from_bytes(name.as_bytes())
        .map_err(|_| format!("`{}` is no method", name.escape_debug()))?;
    let meant = STANDARD
        .iter()
        .find(|known| known.as_str().eq_ignore_ascii_case(name));
    match meant.filter(|meant| **meant != method) {
        None => Ok(method),
        Some(meant) => Err(format!(
            "`{name}` matches nothing, because methods are compared exactly: `{meant}`"
        )),
    }
}

fn grpc(written: &RequestMatch, path: &str) -> Result<Option<Text>, PolicyError> {
    let Some(grpc) = &written.grpc else {
        return Ok(None);
    };
    let word = |field: &str, word: &str| match word.trim() {
        "" => Err(PolicyError::new(
            format!("{path}.grpc.{field}"),
            "a name is missing",
        )),
        word if word.contains('/') => {
            let reason = "a service and a method are written apart and without slashes, such as \
                          `{ service: shop.v1.Checkout, method: Pay }`";
            Err(PolicyError::new(format!("{path}.grpc.{field}"), reason))
        }
        word => Ok(word.to_owned()),
    };
    let service = word("service", &grpc.service)?;
    Ok(Some(match &grpc.method {
        None => Text::Prefix(format!("/{service}/").into_bytes().into()),
        Some(method) => {
            let method = word("method", method)?;
            Text::Exact(format!("/{service}/{method}").into_bytes().into())
        }
    }))
}

/// A header by its place in [`HeaderNames`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HeaderSlot(usize);

/// The headers that rules look at.
#[derive(Debug, Default)]
pub(crate) struct HeaderNames(Vec<HeaderName>);

impl HeaderNames {
    fn slot(&mut self, name: HeaderName) -> HeaderSlot {
        let known = self.0.iter().position(|known| *known == name);
        HeaderSlot(known.unwrap_or_else(|| {
            self.0.push(name);
            self.0.len() - 1
        }))
    }
}

/// The headers of one request: a header that a hundred rules look at is looked up once.
#[derive(Debug)]
pub(crate) struct HeaderCache<'a> {
    headers: &'a HeaderMap,
    names: &'a HeaderNames,
    found: [OnceCell<GetAll<'a, HeaderValue>>; CACHED],
}

impl<'a> HeaderCache<'a> {
    pub(crate) fn new(headers: &'a HeaderMap, names: &'a HeaderNames) -> Self {
        Self {
            headers,
            names,
            found: [const { OnceCell::new() }; CACHED],
        }
    }

    /// Of several values, one must match.
    fn accepts(&self, slot: HeaderSlot, text: &Text) -> bool {
        let (mut any, mut accepts) = (false, false);
        self.each(slot, |value| {
            any = true;
            accepts = accepts || text.accepts(Some(value));
        });
        if any { accepts } else { text.accepts(None) }
    }

    /// All values.
    pub(super) fn each(&self, slot: HeaderSlot, mut visit: impl FnMut(&[u8])) {
        let Some(name) = self.names.0.get(slot.0) else {
            return;
        };
        let look_up = || self.headers.get_all(name);
        let rare;
        let values = match self.found.get(slot.0) {
            Some(found) => found.get_or_init(look_up),
            None => {
                rare = look_up();
                &rare
            }
        };
        for value in values {
            visit(value.as_bytes());
        }
    }
}

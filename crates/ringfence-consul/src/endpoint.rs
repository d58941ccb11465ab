//! The health endpoint, which consulrs does not have, and the middleware of all requests.

use consulrs::api::features::{ConsistencyMode, FeaturedEndpoint, Features};
use http::{HeaderName, Request, Response, Uri};
use rustify::{
    endpoint::{Endpoint, MiddleWare},
    enums::{RequestMethod, RequestType, ResponseType},
    errors::ClientError,
};

use crate::token::Secret;

/// `/v1/health/service/:name`: the instances of a service with their nodes and checks.
#[derive(Clone, Debug, Default)]
pub(crate) struct HealthService {
    pub(crate) name: String,
    pub(crate) tags: Vec<String>,
    pub(crate) datacenter: Option<String>,
    pub(crate) features: Features,
}

impl Endpoint for HealthService {
    /// Parsed record by record, so that one that is broken does not take the others with it.
    type Response = serde_json::Value;
    const REQUEST_BODY_TYPE: RequestType = RequestType::JSON;
    const RESPONSE_BODY_TYPE: ResponseType = ResponseType::JSON;

    fn path(&self) -> String {
        format!("health/service/{}", self.name)
    }

    fn method(&self) -> RequestMethod {
        RequestMethod::GET
    }

    fn query(&self) -> Result<Option<String>, ClientError> {
        let tags = self.tags.iter().map(|tag| ("tag", tag.clone()));
        query(tags.collect(), self.datacenter.as_ref(), &self.features)
    }
}

/// `/v1/kv/:key`: one entry of the key-value store.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReadKey {
    pub(crate) key: String,
    pub(crate) datacenter: Option<String>,
    pub(crate) features: Features,
}

impl Endpoint for ReadKey {
    /// Parsed apart from the transport, as everything is.
    type Response = serde_json::Value;
    const REQUEST_BODY_TYPE: RequestType = RequestType::JSON;
    const RESPONSE_BODY_TYPE: ResponseType = ResponseType::JSON;

    fn path(&self) -> String {
        format!("kv/{}", self.key)
    }

    fn method(&self) -> RequestMethod {
        RequestMethod::GET
    }

    fn query(&self) -> Result<Option<String>, ClientError> {
        query(Vec::new(), self.datacenter.as_ref(), &self.features)
    }
}

// `Features::process` logs the filter at INFO for every poll, so the features are written here.
fn query(
    mut pairs: Vec<(&str, String)>,
    datacenter: Option<&String>,
    features: &Features,
) -> Result<Option<String>, ClientError> {
    pairs.extend(datacenter.map(|dc| ("dc", dc.clone())));
    pairs.extend(features.filter.iter().map(|f| ("filter", f.clone())));
    pairs.extend(features.mode.iter().map(|mode| {
        let mode = match mode {
            ConsistencyMode::CONSISTENT => "consistent",
            ConsistencyMode::STALE => "stale",
        };
        (mode, String::new())
    }));
    if let Some(blocking) = &features.blocking {
        pairs.push(("index", blocking.index.to_string()));
        pairs.extend(blocking.wait.iter().map(|wait| ("wait", wait.clone())));
    }
    if pairs.is_empty() {
        return Ok(None);
    }
    rustify::http::build_query(&pairs).map(Some)
}

impl FeaturedEndpoint for HealthService {
    fn features(&self) -> Option<Features> {
        Some(self.features.clone())
    }
}

/// Puts the token and the scope on a request. consulrs' own encodes paths twice and panics on odd tokens.
pub(crate) struct Middleware<'a> {
    pub(crate) token: Option<&'a Secret>,
    pub(crate) namespace: Option<&'a str>,
    pub(crate) partition: Option<&'a str>,
}

impl MiddleWare for Middleware<'_> {
    fn request<E: Endpoint>(
        &self,
        _: &E,
        request: &mut Request<Vec<u8>>,
    ) -> Result<(), ClientError> {
        if let Some(token) = self.token {
            let name = HeaderName::from_static("x-consul-token");
            request.headers_mut().insert(name, token.header.clone());
        }
        let scope = [("ns", self.namespace), ("partition", self.partition)];
        let scope: Vec<_> = scope
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)))
            .collect();
        if scope.is_empty() {
            return Ok(());
        }
        let scope = rustify::http::build_query(&scope)?;
        let uri = request.uri();
        let joint = if uri.query().is_some() { '&' } else { '?' };
        let scoped = format!("{uri}{joint}{scope}").parse::<Uri>();
        *request.uri_mut() = scoped.map_err(|source| ClientError::UrlBuildError { source })?;
        Ok(())
    }

    fn response<E: Endpoint>(&self, _: &E, _: &mut Response<Vec<u8>>) -> Result<(), ClientError> {
        Ok(())
    }
}

/// Whether a name can be put into a path and arrives unchanged. Parts that are empty or dots would be another path, and
/// control characters vanish on the way.
pub(crate) fn is_path_safe(name: &str) -> bool {
    !name.chars().any(char::is_control)
        && name
            .split('/')
            .all(|part| !part.is_empty() && part != "." && part != "..")
}

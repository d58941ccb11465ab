//! How one request would be decided.

use std::net::IpAddr;

use http::{HeaderName, HeaderValue, Method, Request, Uri};
use ringfence_balancer::{Balancer, Current};
use ringfence_core::{Attribute, PlanId, RequestTags, TagValues, View};
use ringfence_policy::{Explanation, PeerAddress, RequestHead, RoutingKey, VerifiedClaims};
use serde::Serialize;

use super::condition;
use crate::query::Query;

/// A request that was never sent.
pub(crate) struct Explain {
    request: Request<()>,
    has_key: bool,
}

#[derive(Debug)]
pub(crate) enum ExplainError {
    NotReady(String),
}

#[derive(Serialize)]
pub(crate) struct Explained {
    explanation: Explanation,
    /// The same for people.
    text: String,
    /// What to do where the key that was asked about is not looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

impl Explain {
    /// The request that a query describes.
    ///
    /// # Errors
    /// What is wrong with it, for people.
    pub(crate) fn of(query: &Query<'_>) -> Result<Self, String> {
        let mut request = Request::new(());
        if let Some(method) = query.get("method").filter(|method| !method.is_empty()) {
            let method = Method::from_bytes(method.as_bytes());
            *request.method_mut() = method.map_err(|_| "`method` is no method of HTTP")?;
        }
        if let Some(path) = query.get("path").filter(|path| !path.is_empty()) {
            let refused = || "`path` must be a path such as /cart?page=2".to_owned();
            let path: Uri = path.parse().map_err(|_| refused())?;
            if !path.path().starts_with('/') {
                return Err(refused());
            }
            *request.uri_mut() = path;
        }
        for (name, value) in pairs(query, "header")? {
            let name = HeaderName::from_bytes(name.as_bytes())
                .map_err(|_| "`header` has a name that no header can have")?;
            let value = HeaderValue::from_str(value)
                .or_else(|_| HeaderValue::from_bytes(value.as_bytes()))
                .map_err(|_| "`header` has a value that no header can have")?;
            let headers = request.headers_mut();
            headers
                .try_append(name, value)
                .map_err(|_| "there are too many headers")?;
        }
        let mut tags = RequestTags::new();
        for (name, value) in pairs(query, "tag")? {
            tags = tags.with(attribute(name), value);
        }
        let extensions = request.extensions_mut();
        if !tags.is_empty() {
            extensions.insert(tags);
        }
        let claims = pairs(query, "claim")?;
        if !claims.is_empty() {
            extensions.insert(claims.into_iter().collect::<VerifiedClaims>());
        }
        if let Some(peer) = query.get("peer").filter(|peer| !peer.is_empty()) {
            let peer: IpAddr = peer.parse().map_err(|_| "`peer` is no IP address")?;
            extensions.insert(PeerAddress::new(peer));
        }
        let key = query.get("key").filter(|key| !key.is_empty());
        if let Some(key) = key {
            extensions.insert(RoutingKey::copy_from(key));
        }
        Ok(Self {
            request,
            has_key: key.is_some(),
        })
    }

    /// How a balancer would decide it now.
    pub(crate) fn answer(
        &self,
        balancer: &Balancer,
        show_tags: bool,
    ) -> Result<Explained, ExplainError> {
        let head = RequestHead::of(&self.request);
        let explained = balancer.read(|current| {
            let mut told = current.explain(&head);
            if !show_tags {
                hide_tags(&current, &head, &mut told);
            }
            told
        });
        let explanation = explained.map_err(|error| ExplainError::NotReady(error.to_string()))?;
        let is_unread = self.has_key && explanation.key.is_none();
        Ok(Explained {
            text: explanation.to_string(),
            hint: is_unread.then(|| hint(&explanation)),
            explanation,
        })
    }
}

fn pairs<'q>(query: &'q Query<'_>, name: &str) -> Result<Vec<(&'q str, &'q str)>, String> {
    let malformed = |value| format!("`{name}` must be name:value, not `{value}`");
    query.pairs(name).map_err(malformed)
}

fn attribute(name: &str) -> Attribute {
    match name {
        "version" => Attribute::Version,
        "zone" => Attribute::Zone,
        "region" => Attribute::Region,
        tag => Attribute::tag(tag),
    }
}

/// Where the rule has its key from, as it was not from the one that was asked about.
fn hint(explanation: &Explanation) -> String {
    let sources = explanation.sources.iter().map(|source| &*source.source);
    let sources = sources.collect::<Vec<_>>().join(", ");
    let rule = &explanation.rule;
    format!(
        "the rule `{rule}` has its key from {sources}: give the request that, such as header=name:value"
    )
}

/// Writes the conditions of the stages without the values of tags.
fn hide_tags<'a>(current: &Current<'a>, head: &RequestHead<'a>, told: &mut Explanation) {
    let view = current.view();
    let conditions = match current.evaluate(head) {
        Some(evaluation) => conditions(view, evaluation.plan, &evaluation.tags),
        None => {
            let none = RequestTags::new();
            let tags = head.extensions.get::<RequestTags>().unwrap_or(&none);
            conditions(view, PlanId::ROUTING, tags)
        }
    };
    for (place, stage) in told.stages.iter_mut().enumerate() {
        // What is drawn at random can give the request another plan the second time.
        let same = conditions
            .get(place)
            .filter(|(whole, _)| *whole == stage.pool);
        stage.pool = same.map_or_else(|| "not shown".to_owned(), |(_, hidden)| hidden.clone());
    }
}

/// Of each stage: as it is, and without the values of tags.
fn conditions<T: TagValues + ?Sized>(view: &View, plan: PlanId, tags: &T) -> Vec<(String, String)> {
    let resolved;
    let route = match view.route(plan, tags) {
        Some(route) => &**route,
        None => {
            resolved = view.resolve(&view.key(plan, tags));
            &resolved
        }
    };
    let stages = route.stages().iter().map(|outcome| &outcome.stage);
    stages
        .map(|stage| (stage.to_string(), condition::of_stage(stage, false)))
        .collect()
}

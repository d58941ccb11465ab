//! How one request would be decided.

use std::collections::BTreeMap;

use http::{HeaderName, HeaderValue, Request};
use ringfence_balancer::{Balancer, Current};
use ringfence_core::{PlanId, RequestTags, TagValues, View, clip};
use ringfence_policy::{Explanation, RequestHead, SampleRequest};
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
        let given = |name| query.get(name).filter(|value| !value.is_empty());
        let peer = given("peer").map(str::parse).transpose();
        let default = SampleRequest::default();
        let sample = SampleRequest {
            method: given("method").map_or(default.method, str::to_owned),
            path: given("path").map_or(default.path, str::to_owned),
            key: given("key").map(str::to_owned),
            tags: distinct(query, "tag")?,
            claims: distinct(query, "claim")?,
            peer: peer.map_err(|_| "`peer` is no IP address")?,
            ..SampleRequest::default()
        };
        let mut request = sample.to_request().map_err(|error| error.to_string())?;
        // One may be there several times, which a sample cannot say.
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
        Ok(Self {
            request,
            has_key: sample.key.is_some(),
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

/// Pairs of which each has another name.
fn distinct(query: &Query<'_>, name: &str) -> Result<BTreeMap<String, String>, String> {
    let mut all = BTreeMap::new();
    for (part, value) in pairs(query, name)? {
        if all.insert(part.to_owned(), value.to_owned()).is_some() {
            return Err(format!("`{name}` has `{}` twice", clip(part)));
        }
    }
    Ok(all)
}

/// Where the rule has its key from, as it was not from the one that was asked about.
fn hint(explanation: &Explanation) -> String {
    let place = explanation.where_its_key_is();
    format!("{place}: give the request that, such as header=name:value")
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

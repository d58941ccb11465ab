use std::{
    convert::Infallible,
    fmt,
    future::{Ready, ready},
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::Full;
use tower_service::Service;

use crate::{
    Admin,
    documents::{self, Explain, ExplainError},
    mounted::Mounted,
    page,
    query::Query,
    respond::{self, Answer},
    routes::{Document, Known},
};

/// The service of an [`Admin`], to be mounted in a server: in hyper's as it is, in axum's router and so in tonic's with
/// `nest_service`. It reads nothing of a request but its head, and clones are handles to the same one.
///
/// # Examples
/// ```
/// use http::{Request, StatusCode};
/// use ringfence_admin::Admin;
/// use tower_service::Service;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut service = Admin::new().with_prefix("/ringfence").service();
/// let answer = service.call(Request::get("/ringfence/services").body(())?).await?;
/// assert_eq!(answer.status(), StatusCode::OK);
/// let answer = service.call(Request::post("/ringfence/services").body(())?).await?;
/// assert_eq!(answer.status(), StatusCode::METHOD_NOT_ALLOWED);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct AdminService {
    admin: Arc<Admin>,
}

impl AdminService {
    pub(crate) fn new(admin: Admin) -> Self {
        let admin = Arc::new(admin);
        Self { admin }
    }

    /// What a request is answered.
    pub(crate) fn answer<B>(&self, request: &Request<B>) -> Answer {
        let (method, uri) = (request.method(), request.uri());
        let answer = self.whole(method, uri.path(), uri.query(), request.headers());
        respond::for_method(method, answer)
    }

    fn whole(
        &self,
        method: &Method,
        path: &str,
        query: Option<&str>,
        headers: &HeaderMap,
    ) -> Answer {
        let Some(path) = path.strip_prefix(&*self.admin.prefix) else {
            return not_found();
        };
        let Some(known) = Known::at(path) else {
            return not_found();
        };
        if !matches!(*method, Method::GET | Method::HEAD) {
            let mut refused = respond::problem(
                StatusCode::METHOD_NOT_ALLOWED,
                "this page is read-only",
                None,
            );
            let allowed = HeaderValue::from_static("GET, HEAD");
            refused.headers_mut().insert(header::ALLOW, allowed);
            return refused;
        }
        let query = Query::of(query);
        if let Err(refused) = known.check(&query) {
            return respond::problem(StatusCode::BAD_REQUEST, &refused, None);
        }
        match known {
            Known::Page => page::answer(),
            Known::Services => {
                let services = documents::services(&self.admin.mounted);
                respond::json(StatusCode::OK, None, services)
            }
            Known::Metrics => self.metrics(),
            Known::Healthz => healthz(&self.admin.mounted),
            Known::State => self.state(&query, headers),
            Known::Of(document) => self.document(document, &query),
        }
    }

    /// It tells of balancers that are gone too.
    fn state(&self, query: &Query<'_>, headers: &HeaderMap) -> Answer {
        let Some(mounted) = self.service_of(query) else {
            return no_such_service();
        };
        let state = documents::state(mounted, &self.admin.mounted, self.admin.show_tags);
        respond::tagged_json(headers, &mounted.service.to_string(), state)
    }

    fn document(&self, document: Document, query: &Query<'_>) -> Answer {
        let Some(mounted) = self.service_of(query) else {
            return no_such_service();
        };
        let service = mounted.service.to_string();
        let tags = self.admin.show_tags;
        let Some(balancer) = mounted.balancer() else {
            return respond::problem(StatusCode::GONE, "the balancer was dropped", None);
        };
        let service = Some(&*service);
        let ok = StatusCode::OK;
        match document {
            Document::Snapshot => respond::json(ok, service, documents::snapshot(&balancer, tags)),
            Document::Ring => match balancer.view() {
                Some(view) => respond::json(ok, service, &*mounted.ring(view.whole_ring())),
                None => no_view(),
            },
            Document::Dump => match balancer.dump() {
                Some(dump) => respond::json_text(dump.to_json()),
                None => no_view(),
            },
            Document::Observe => respond::json(ok, service, documents::observe(&balancer)),
            Document::Pools => match documents::pools(&balancer, tags) {
                Some(pools) => respond::json(ok, service, pools),
                None => no_view(),
            },
            Document::Explain => match Explain::of(query) {
                Err(malformed) => respond::problem(StatusCode::BAD_REQUEST, &malformed, None),
                Ok(asked) => match asked.answer(&balancer, tags) {
                    Ok(told) => respond::json(ok, service, told),
                    Err(ExplainError::NotReady(reason)) => {
                        respond::problem(StatusCode::SERVICE_UNAVAILABLE, &reason, None)
                    }
                },
            },
            Document::Decisions => respond::json(ok, service, documents::decisions(&balancer)),
            Document::Changes => respond::json(ok, service, documents::changes(&balancer)),
            Document::HotKeys => respond::json(ok, service, documents::hot_keys(&balancer)),
        }
    }

    /// That of the parameter `service`, without it the first service. Of several balancers of it the first that is still there.
    fn service_of(&self, query: &Query<'_>) -> Option<&Arc<Mounted>> {
        let mut mounted = self.admin.mounted.iter();
        let first = match query.get("service") {
            Some(name) => mounted.find(|mounted| mounted.service.to_string() == name),
            None => mounted.next(),
        }?;
        let mut same = self
            .admin
            .mounted
            .iter()
            .filter(|m| m.service == first.service);
        same.find(|mounted| mounted.balancer().is_some())
            .or(Some(first))
    }

    fn metrics(&self) -> Answer {
        match &self.admin.metrics {
            Some(render) => respond::exposition(render()),
            None => respond::problem(
                StatusCode::NOT_FOUND,
                "no metrics were given",
                Some("give them with Admin::with_metrics"),
            ),
        }
    }
}

fn healthz(mounted: &[Arc<Mounted>]) -> Answer {
    let (status, text) = documents::healthz(mounted);
    respond::text(status, text)
}

fn not_found() -> Answer {
    let hint = Some(
        "the page is at /, what else there is in the documentation of ringfence::guide::admin",
    );
    respond::problem(StatusCode::NOT_FOUND, "there is nothing here", hint)
}

fn no_such_service() -> Answer {
    let hint = Some("/services lists those that are");
    respond::problem(StatusCode::NOT_FOUND, "no such service is shown here", hint)
}

fn no_view() -> Answer {
    let hint = Some("/healthz says why");
    respond::problem(StatusCode::SERVICE_UNAVAILABLE, "there is no view", hint)
}

impl<B> Service<Request<B>> for AdminService {
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        ready(Ok(self.answer(&request)))
    }
}

impl fmt::Debug for AdminService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AdminService").field(&self.admin).finish()
    }
}

use std::{
    collections::{HashMap, VecDeque},
    fmt, io,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
    time::Duration,
};

use bytes::Bytes;
use http::{
    HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Uri, header::CONTENT_TYPE,
};
use http_body::Body;
use http_body_util::{BodyExt, Full};
use tokio::time::{Instant, sleep};
use tower_service::Service;

/// A tower service that catches misuse of readiness: its clones are never ready, and calling one that is not panics.
///
/// It answers by the authority of the request's URI, from a script. All clones share the script and the record.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// use http::{Request, StatusCode};
/// use http_body_util::Empty;
/// use ringfence_testkit::{ProbeAnswer, ProbeService};
/// use tower_service::Service;
///
/// let mut service = ProbeService::new();
/// service.then("a:80", ProbeAnswer::Status(StatusCode::SERVICE_UNAVAILABLE));
///
/// std::future::poll_fn(|cx| Service::<Request<Empty<bytes::Bytes>>>::poll_ready(&mut service, cx)).await?;
/// let mut request = Request::new(Empty::<bytes::Bytes>::new());
/// *request.uri_mut() = http::Uri::from_static("http://a:80/");
/// assert_eq!(service.call(request).await?.status(), StatusCode::SERVICE_UNAVAILABLE);
/// assert_eq!(service.calls_to("a:80"), 1);
/// # Ok(())
/// # }
/// ```
pub struct ProbeService {
    shared: Arc<Mutex<Shared>>,
    ready: bool,
}

/// How [`ProbeService`] answers one call.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum ProbeAnswer {
    /// Reads the request's body, then answers with this status and an empty body.
    Status(StatusCode),
    /// Reads the request's body, then answers 200 with this `grpc-status` in the headers (trailers-only).
    Grpc(u16),
    /// Reads the request's body, then answers with this status, a header of this name and value, and an empty body.
    Headed(StatusCode, &'static str, &'static str),
    /// Fails with an I/O error of this kind, without reading the body.
    Fail(io::ErrorKind),
    /// Reads the request's body, waits, and then answers with this status and an empty body.
    Slow(Duration, StatusCode),
    /// Never answers.
    Hang,
}

/// One call as [`ProbeService`] saw it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ProbeCall {
    /// When it came.
    pub at: Instant,
    /// The request's method.
    pub method: Method,
    /// The request's URI.
    pub uri: Uri,
    /// The request's headers.
    pub headers: HeaderMap,
    /// The request's body, once it has been read to its end.
    pub body: Option<Bytes>,
    /// The request's trailers, if it had any and its body has been read.
    pub trailers: Option<HeaderMap>,
}

#[derive(Default)]
struct Shared {
    scripts: HashMap<String, VecDeque<ProbeAnswer>>,
    defaults: HashMap<String, ProbeAnswer>,
    calls: Vec<ProbeCall>,
    reserved: usize,
    held: bool,
    waiting: Vec<Waker>,
}

impl ProbeService {
    /// A service that is ready when asked and answers 200 to all.
    #[must_use]
    pub fn new() -> Self {
        Self {
            shared: Arc::default(),
            ready: false,
        }
    }

    /// Answers the next call to `authority` that has no answer yet with `answer`.
    pub fn then(&self, authority: &str, answer: ProbeAnswer) {
        let mut shared = self.lock();
        let script = shared.scripts.entry(authority.to_owned()).or_default();
        script.push_back(answer);
    }

    /// Answers all calls to `authority` with `answer`, once those given to [`then`](Self::then) are used up.
    pub fn always(&self, authority: &str, answer: ProbeAnswer) {
        self.lock().defaults.insert(authority.to_owned(), answer);
    }

    /// Keeps every clone from getting ready until [`release`](Self::release).
    pub fn hold(&self) {
        self.lock().held = true;
    }

    /// Lets clones get ready again and wakes those that wait.
    pub fn release(&self) {
        let mut shared = self.lock();
        shared.held = false;
        shared.waiting.drain(..).for_each(Waker::wake);
    }

    /// All calls so far, in order.
    #[must_use]
    pub fn calls(&self) -> Vec<ProbeCall> {
        self.lock().calls.clone()
    }

    /// Calls so far whose URI had this authority.
    #[must_use]
    pub fn calls_to(&self, authority: &str) -> usize {
        let shared = self.lock();
        let calls = shared.calls.iter();
        calls
            .filter(|call| authority_of(&call.uri) == authority)
            .count()
    }

    /// Readiness given out and neither used by a call nor dropped. Zero when nothing leaks.
    #[must_use]
    pub fn reserved(&self) -> usize {
        self.lock().reserved
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        lock(&self.shared)
    }
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

fn authority_of(uri: &Uri) -> &str {
    uri.authority().map_or("", |authority| authority.as_str())
}

impl Default for ProbeService {
    fn default() -> Self {
        Self::new()
    }
}

impl Clone for ProbeService {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            ready: false,
        }
    }
}

impl Drop for ProbeService {
    fn drop(&mut self) {
        if self.ready {
            self.lock().reserved -= 1;
        }
    }
}

impl fmt::Debug for ProbeService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProbeService")
            .field("ready", &self.ready)
            .finish_non_exhaustive()
    }
}

impl<B> Service<Request<B>> for ProbeService
where
    B: Body<Data: Send, Error: fmt::Debug> + Send + 'static,
{
    type Response = Response<Full<Bytes>>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.ready {
            let mut shared = self.lock();
            if shared.held {
                shared.waiting.push(cx.waker().clone());
                return Poll::Pending;
            }
            shared.reserved += 1;
            drop(shared);
            self.ready = true;
        }
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        assert!(self.ready, "called without having been polled ready");
        self.ready = false;
        let (parts, body) = request.into_parts();
        let authority = authority_of(&parts.uri).to_owned();
        let (index, answer) = {
            let mut shared = self.lock();
            shared.reserved -= 1;
            shared.calls.push(ProbeCall {
                at: Instant::now(),
                method: parts.method,
                uri: parts.uri,
                headers: parts.headers,
                body: None,
                trailers: None,
            });
            (shared.calls.len() - 1, shared.answer(&authority))
        };
        let shared = Arc::clone(&self.shared);
        Box::pin(async move {
            let mut headers = HeaderMap::new();
            let status = match answer {
                ProbeAnswer::Status(status) | ProbeAnswer::Slow(_, status) => status,
                ProbeAnswer::Grpc(code) => {
                    let grpc = HeaderValue::from_static("application/grpc");
                    headers.insert(CONTENT_TYPE, grpc);
                    headers.insert("grpc-status", code.into());
                    StatusCode::OK
                }
                ProbeAnswer::Headed(status, name, value) => {
                    headers.insert(name, HeaderValue::from_static(value));
                    status
                }
                ProbeAnswer::Fail(kind) => return Err(io::Error::new(kind, authority)),
                ProbeAnswer::Hang => std::future::pending().await,
            };
            let collected = body.collect().await;
            let collected = collected.map_err(|error| io::Error::other(format!("{error:?}")))?;
            if let Some(call) = lock(&shared).calls.get_mut(index) {
                call.trailers = collected.trailers().cloned();
                call.body = Some(collected.to_bytes());
            }
            if let ProbeAnswer::Slow(delay, _) = answer {
                sleep(delay).await;
            }
            let mut response = Response::new(Full::default());
            *response.status_mut() = status;
            *response.headers_mut() = headers;
            Ok(response)
        })
    }
}

impl Shared {
    fn answer(&mut self, authority: &str) -> ProbeAnswer {
        let scripted = self
            .scripts
            .get_mut(authority)
            .and_then(VecDeque::pop_front);
        let default = self.defaults.get(authority).copied();
        scripted
            .or(default)
            .unwrap_or(ProbeAnswer::Status(StatusCode::OK))
    }
}

#[cfg(test)]
mod tests {
    use std::{future::poll_fn, io::ErrorKind};

    use bytes::Bytes;
    use http::{Request, StatusCode};
    use http_body_util::Full;
    use tower_service::Service;

    use super::{ProbeAnswer, ProbeService};

    type Body = Full<Bytes>;

    fn request(uri: &str) -> Request<Body> {
        Request::post(uri).body("body".into()).unwrap()
    }

    async fn ready(service: &mut ProbeService) {
        poll_fn(|cx| Service::<Request<Body>>::poll_ready(service, cx))
            .await
            .unwrap();
    }

    #[tokio::test]
    async fn answers_by_authority_from_its_script() {
        let mut service = ProbeService::new();
        service.then("a:80", ProbeAnswer::Fail(ErrorKind::ConnectionRefused));
        service.always("a:80", ProbeAnswer::Grpc(14));

        ready(&mut service).await;
        let error = service.call(request("http://a:80/x")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
        ready(&mut service).await;
        let response = service.call(request("http://a:80/x")).await.unwrap();
        assert_eq!(response.headers()["grpc-status"], "14");
        ready(&mut service).await;
        let response = service.call(request("http://b:80/x")).await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);

        assert_eq!((service.calls_to("a:80"), service.calls_to("b:80")), (2, 1));
        let calls = service.calls();
        assert_eq!(
            (calls[0].body.as_deref(), calls[1].body.as_deref()),
            (None, Some(&b"body"[..]))
        );
    }

    #[tokio::test]
    async fn gives_back_readiness_that_is_not_used() {
        let service = ProbeService::new();
        let mut clone = service.clone();
        ready(&mut clone).await;
        assert_eq!(service.reserved(), 1);
        drop(clone);
        assert_eq!(service.reserved(), 0);
    }

    #[tokio::test]
    #[should_panic(expected = "polled ready")]
    async fn panics_when_a_clone_takes_the_call() {
        let mut service = ProbeService::new();
        ready(&mut service).await;
        drop(service.clone().call(request("http://a:80/")));
    }

    #[tokio::test]
    async fn is_not_ready_while_held() {
        let service = ProbeService::new();
        service.hold();
        let mut clone = service.clone();
        let waiting = tokio::spawn(async move { ready(&mut clone).await });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        service.release();
        waiting.await.unwrap();
    }
}

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use reqwest::{Client, RequestBuilder, Response, StatusCode, redirect::Policy};
use ringfence_discovery::ErrorKind;

use crate::{NacosConfig, auth::Auth, failure::Failure, names::PUBLIC};

/// Servers hold a poll for no less than this, whatever they are asked.
const LEAST_HOLD: Duration = Duration::from_secs(10);
const LONGEST_HOLD: Duration = Duration::from_secs(30);
/// What a server says of a configuration that it does not have. Another 404 is that of something else.
const NOT_THERE: &[u8] = b"config data not exist";
/// Answers without a configuration.
const LARGEST_NOTE: usize = 64 * 1024;

/// The configuration service over HTTP.
pub(super) struct ConfigEndpoint {
    http: Result<Client, Failure>,
    auth: Option<Auth>,
    urls: Vec<String>,
    current: AtomicUsize,
    data_id: String,
    group: String,
    /// Empty for the public one.
    tenant: String,
    read_timeout: Duration,
    hold: Duration,
}

/// What a configuration is now.
#[derive(Debug)]
pub(super) struct Read {
    /// `None`: there is none.
    pub(super) content: Option<Vec<u8>>,
    /// What a listener names it by; `None` where the server did not say.
    pub(super) digest: Option<Arc<str>>,
}

impl ConfigEndpoint {
    pub(super) fn new(config: NacosConfig, data_id: String) -> Self {
        let http = Client::builder()
            // A proxy or another host must not get to see the token.
            .no_proxy()
            .redirect(Policy::none())
            .connect_timeout(config.read_timeout)
            // A kept connection would be bound to the runtime that made it, and outlive the watch.
            .pool_max_idle_per_host(0)
            .build()
            .map_err(|error| {
                Failure::new(ErrorKind::Config, "the HTTP client cannot be made").with_cause(error)
            });
        let servers = config.servers.iter();
        let urls: Vec<String> = servers
            .map(|server| {
                let (origin, path) = (server.http_origin(), &config.context_path);
                format!("{origin}{path}/v1/cs/configs")
            })
            .collect();
        let login = config.login.clone();
        Self {
            http,
            auth: login.map(|login| Auth::new(login, &config)),
            current: AtomicUsize::new(fastrand::usize(..urls.len().max(1))),
            urls,
            data_id,
            tenant: match &*config.namespace {
                PUBLIC => String::new(),
                namespace => namespace.to_owned(),
            },
            group: config.group,
            read_timeout: config.read_timeout,
            hold: config.poll_interval.clamp(LEAST_HOLD, LONGEST_HOLD),
        }
    }

    pub(super) fn data_id(&self) -> &str {
        &self.data_id
    }

    /// Reads the configuration, from one server after the other until one answers.
    pub(super) async fn read(&self, max_bytes: usize) -> Result<Read, Failure> {
        let mut last = Failure::new(ErrorKind::Config, "there is no server");
        for _ in 0..self.urls.len() {
            let index = self.current.load(Ordering::Relaxed);
            match self.read_from(index, max_bytes).await {
                Ok(read) => return Ok(read),
                Err(failure) if failure.kind() == ErrorKind::Unavailable => {
                    last = failure;
                    self.leave(index);
                }
                Err(failure) => return Err(failure),
            }
        }
        Err(last)
    }

    async fn read_from(&self, index: usize, max_bytes: usize) -> Result<Read, Failure> {
        let mut query = vec![("dataId", &*self.data_id), ("group", &*self.group)];
        if !self.tenant.is_empty() {
            query.push(("tenant", &*self.tenant));
        }
        let request = self.http()?.get(self.url(index)).query(&query);
        let request = self.with_token(request).await?.timeout(self.read_timeout);
        let response = request.send().await.map_err(unreachable)?;
        let digest = response.headers().get("content-md5").and_then(|digest| {
            let digest = digest.to_str().ok()?;
            let is_digest = digest.len() == 32 && digest.bytes().all(|b| b.is_ascii_hexdigit());
            is_digest.then(|| Arc::from(digest))
        });
        match response.status() {
            StatusCode::OK => Ok(Read {
                content: Some(body(response, max_bytes).await?),
                digest,
            }),
            StatusCode::NOT_FOUND => {
                let note = body(response, LARGEST_NOTE).await?;
                if note.trim_ascii() != NOT_THERE {
                    return Err(Failure::new(
                        ErrorKind::Protocol,
                        "there is no configuration service under the context path",
                    ));
                }
                Ok(Read {
                    content: None,
                    // What listeners name a configuration by that they do not have.
                    digest: Some(Arc::from("")),
                })
            }
            status => Err(self.refused(status)),
        }
    }

    /// Waits until the server announces a change, or the time of a poll is over. The reason of a failure is not kept: the read
    /// that follows will say.
    pub(super) async fn listen(&self, digest: &str) -> Result<(), ()> {
        let index = self.current.load(Ordering::Relaxed);
        let poll = async {
            let mut listened = format!("{}\u{2}{}\u{2}{digest}", self.data_id, self.group);
            if !self.tenant.is_empty() {
                listened.push('\u{2}');
                listened.push_str(&self.tenant);
            }
            listened.push('\u{1}');
            let request = self
                .http()?
                .post(format!("{}/listener", self.url(index)))
                .header("Long-Pulling-Timeout", self.hold.as_millis().to_string())
                .form(&[("Listening-Configs", listened)]);
            let request = self.with_token(request).await?;
            let request = request.timeout(self.hold + self.read_timeout);
            let response = request.send().await.map_err(unreachable)?;
            match response.status() {
                StatusCode::OK => body(response, LARGEST_NOTE).await.map(drop),
                status => Err(self.refused(status)),
            }
        };
        poll.await.map_err(|failure: Failure| {
            tracing::debug!(
                data_id = self.data_id,
                reason = failure.message(),
                "listening failed"
            );
        })
    }

    fn http(&self) -> Result<&Client, Failure> {
        self.http.as_ref().map_err(Clone::clone)
    }

    fn url(&self, index: usize) -> &str {
        let urls = &self.urls;
        urls.get(index % urls.len().max(1))
            .map_or("", String::as_str)
    }

    /// In a header and not in the URL, which is written to logs.
    async fn with_token(&self, request: RequestBuilder) -> Result<RequestBuilder, Failure> {
        let Some(auth) = &self.auth else {
            return Ok(request);
        };
        auth.ensure().await?;
        let Some(token) = auth.token() else {
            return Ok(request);
        };
        let mut value = reqwest::header::HeaderValue::from_str(&token)
            .map_err(|_| Failure::new(ErrorKind::Protocol, "the token cannot be sent"))?;
        value.set_sensitive(true);
        Ok(request.header("accessToken", value))
    }

    fn refused(&self, status: StatusCode) -> Failure {
        match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                if let Some(auth) = &self.auth {
                    auth.doubt();
                }
                Failure::new(
                    ErrorKind::Unauthorized,
                    "the server refuses the credentials or the access",
                )
            }
            status => {
                let is_passing =
                    status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS;
                let kind = match is_passing {
                    true => ErrorKind::Unavailable,
                    false => ErrorKind::Protocol,
                };
                Failure::new(kind, format!("the server answers {}", status.as_u16()))
            }
        }
    }

    fn leave(&self, index: usize) {
        let next = (index + 1) % self.urls.len().max(1);
        let _ = self
            .current
            .compare_exchange(index, next, Ordering::Relaxed, Ordering::Relaxed);
    }
}

fn unreachable(error: reqwest::Error) -> Failure {
    Failure::new(ErrorKind::Unavailable, "no server can be reached").with_cause(error.without_url())
}

async fn body(mut response: Response, max_bytes: usize) -> Result<Vec<u8>, Failure> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(unreachable)? {
        if body.len() + chunk.len() > max_bytes {
            let message = format!("the answer has over {max_bytes} bytes");
            return Err(Failure::new(ErrorKind::Malformed, message));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

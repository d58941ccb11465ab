//! The HTTP transport under the requests of consulrs: no redirects, no proxies, rustls, HTTP/1.1, bounded bodies.

use std::{fmt, time::Duration};

use async_trait::async_trait;
use http::{Request, Response};
use reqwest::{Url, redirect::Policy};
use rustify::errors::ClientError;

use crate::{ConsulConfig, ConsulConfigError, tls};

/// Idle connections are not kept: a watch uses its own at once, and one that ends must leave none behind.
const IDLE: Duration = Duration::from_secs(1);
const TCP_KEEPALIVE: Duration = Duration::from_secs(15);

pub(crate) struct Transport {
    http: reqwest::Client,
    base: String,
    max_body: usize,
}

/// Why there is no whole answer. It holds no URL.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TransportError {
    #[error("the request cannot be built")]
    Build(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error("{}: {}", if .0.is_connect() { "no connection" } else { "the connection broke" }, root_cause(.0))]
    Http(#[source] reqwest::Error),
    #[error("no TLS connection; does the server speak plain http?")]
    NotTls(#[source] reqwest::Error),
    #[error("no answer in HTTP; does the server speak https?")]
    NotPlain(#[source] reqwest::Error),
    #[error("the server answers with a redirect, which is not followed")]
    Redirect,
    #[error("the answer is over {0} bytes")]
    TooLarge(usize),
}

fn root_cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}

impl Transport {
    pub(crate) fn new(config: &ConsulConfig) -> Result<Self, ConsulConfigError> {
        let base = base(&config.address)?;
        let mut builder = reqwest::Client::builder()
            .use_rustls_tls()
            .http1_only()
            .no_proxy()
            // `Policy::none` logs where the redirect leads, which may repeat what was sent.
            .redirect(Policy::custom(|attempt| attempt.error("not followed")))
            .referer(false)
            .connect_timeout(config.connect_timeout)
            .tcp_keepalive(TCP_KEEPALIVE)
            .tcp_nodelay(true)
            .pool_idle_timeout(IDLE);
        if let Some(tls) = &config.tls {
            if !base.starts_with("https:") {
                return Err(ConsulConfigError::Address {
                    reason: "TLS settings need an https address",
                });
            }
            builder = tls.apply(builder)?;
        }
        let http = builder
            .build()
            .map_err(|source| tls::failed("the certificates or the key are refused", source))?;
        Ok(Self {
            http,
            base,
            max_body: config.max_body,
        })
    }

    pub(crate) fn base(&self) -> &str {
        &self.base
    }

    pub(crate) async fn answer(
        &self,
        request: Request<Vec<u8>>,
    ) -> Result<Response<Vec<u8>>, TransportError> {
        let request = reqwest::Request::try_from(request)
            .map_err(|error| TransportError::Build(error.without_url().into()))?;
        let broken = |error| self.broken(error);
        let mut answer = self.http.execute(request).await.map_err(broken)?;
        let mut response = Response::new(Vec::new());
        *response.status_mut() = answer.status();
        *response.headers_mut() = std::mem::take(answer.headers_mut());
        let body = response.body_mut();
        while let Some(chunk) = answer.chunk().await.map_err(broken)? {
            if body.len() + chunk.len() > self.max_body {
                return Err(TransportError::TooLarge(self.max_body));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(response)
    }
}

impl Transport {
    /// What a scheme that does not fit the server brings is told by name: the libraries' own words are about bytes.
    fn broken(&self, error: reqwest::Error) -> TransportError {
        if error.is_redirect() {
            return TransportError::Redirect;
        }
        let error = error.without_url();
        let cause = root_cause(&error);
        match self.base.starts_with("https:") {
            // The first bytes are no TLS record.
            true if cause.contains("InvalidContentType") => TransportError::NotTls(error),
            // They are one: an alert. Consul itself answers in HTTP, and says what is wrong.
            false if cause.contains("invalid HTTP version") => TransportError::NotPlain(error),
            _ => TransportError::Http(error),
        }
    }
}

#[async_trait]
impl rustify::client::Client for Transport {
    fn base(&self) -> &str {
        &self.base
    }

    async fn send(&self, request: Request<Vec<u8>>) -> Result<Response<Vec<u8>>, ClientError> {
        self.answer(request)
            .await
            .map_err(|error| ClientError::GenericError {
                source: error.into(),
            })
    }
}

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transport")
            .field("base", &self.base)
            .finish_non_exhaustive()
    }
}

/// The address with the version of the API behind its path.
fn base(address: &str) -> Result<String, ConsulConfigError> {
    let refused = |reason| Err(ConsulConfigError::Address { reason });
    let Ok(url) = Url::parse(address) else {
        return refused("not a URL such as http://127.0.0.1:8500");
    };
    if !matches!(url.scheme(), "http" | "https") {
        return refused("must start with http:// or https://");
    }
    if url.host_str().is_none_or(str::is_empty) || url.port() == Some(0) {
        return refused("has no host, or the port 0");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return refused("must not hold a user or a password; see ConsulConfig::with_token");
    }
    if url.query().is_some() || url.fragment().is_some() {
        return refused("must not hold a query or a fragment");
    }
    Ok(format!("{}/v1", url.as_str().trim_end_matches('/')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_checked_once_and_its_path_kept() {
        for (address, expected) in [
            ("http://127.0.0.1:8500", "http://127.0.0.1:8500/v1"),
            ("http://[::1]:8500/", "http://[::1]:8500/v1"),
            ("https://edge/consul/", "https://edge/consul/v1"),
        ] {
            assert_eq!(base(address).expect(address), expected);
        }
        for bad in [
            "",
            "127.0.0.1:8500",
            "localhost:8500",
            "unix:///run/consul.sock",
            "http://",
            "http://h:0",
            "http://user:hunter2@h:1",
            "http://h:1/?token=hunter2",
            "http://h:1/#x",
        ] {
            let error = base(bad).expect_err(bad);
            assert!(!format!("{error} {error:?}").contains("hunter2"));
        }
    }
}

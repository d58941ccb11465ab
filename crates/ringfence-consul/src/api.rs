//! Sending requests, and what the answers mean.

use std::time::Duration;

use http::{HeaderMap, StatusCode};
use ringfence_discovery::{DiscoveryError, ErrorKind};
use rustify::endpoint::Endpoint;
use tokio::time::timeout;

use crate::{
    ConsulConfig, ConsulConfigError, ConsulToken, NAME,
    endpoint::Middleware,
    token::Secret,
    transport::{Transport, TransportError},
};

/// Longest text of the server that is quoted.
const QUOTE: usize = 200;

#[derive(Debug)]
pub(crate) struct Api {
    transport: Transport,
    token: Option<ConsulToken>,
    namespace: Option<String>,
    partition: Option<String>,
}

/// A 2xx answer.
pub(crate) struct Answer {
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

/// No 2xx answer.
pub(crate) struct Refusal {
    /// `None`: there was no answer at all.
    pub(crate) status: Option<StatusCode>,
    /// Those of the answer.
    pub(crate) headers: Option<Box<HeaderMap>>,
    pub(crate) error: DiscoveryError,
}

impl From<DiscoveryError> for Refusal {
    fn from(error: DiscoveryError) -> Self {
        Self {
            status: None,
            headers: None,
            error,
        }
    }
}

impl Api {
    pub(crate) fn new(config: &ConsulConfig) -> Result<Self, ConsulConfigError> {
        config.check()?;
        Ok(Self {
            transport: Transport::new(config)?,
            token: config.token.clone(),
            namespace: config.namespace.clone(),
            partition: config.partition.clone(),
        })
    }

    /// Sends a request to the namespace `namespace`, else to the configured one, and waits at most `limit` for the whole
    /// answer.
    pub(crate) async fn call<E: Endpoint>(
        &self,
        endpoint: E,
        namespace: Option<&str>,
        limit: Duration,
    ) -> Result<Answer, Refusal> {
        let token = match &self.token {
            Some(token) => Some(token.read().await?),
            None => None,
        };
        let middleware = Middleware {
            token: token.as_ref(),
            namespace: namespace.or(self.namespace.as_deref()),
            partition: self.partition.as_deref(),
        };
        let request = endpoint.with_middleware(&middleware);
        let request = request.request(self.transport.base()).map_err(|error| {
            let message = "the request cannot be built from this name or these settings";
            DiscoveryError::new(ErrorKind::Config, NAME, message).with_cause(error)
        })?;
        let answer = timeout(limit, self.transport.answer(request))
            .await
            .map_err(|_| {
                let message = format!("no whole answer within {limit:.1?}");
                DiscoveryError::new(ErrorKind::Unavailable, NAME, message)
            })?
            .map_err(|error| {
                let kind = match error {
                    TransportError::Http(_)
                    | TransportError::NotTls(_)
                    | TransportError::NotPlain(_) => ErrorKind::Unavailable,
                    TransportError::Redirect => ErrorKind::Protocol,
                    TransportError::TooLarge(_) => ErrorKind::Malformed,
                    TransportError::Build(_) => ErrorKind::Config,
                };
                DiscoveryError::new(kind, NAME, error.to_string()).with_cause(error)
            })?;
        let (head, body) = answer.into_parts();
        if head.status.is_success() {
            let headers = head.headers;
            return Ok(Answer { headers, body });
        }
        Err(Refusal {
            status: Some(head.status),
            headers: Some(Box::new(head.headers)),
            error: refused(head.status, &body, token.as_ref()),
        })
    }
}

fn refused(status: StatusCode, body: &[u8], token: Option<&Secret>) -> DiscoveryError {
    let kind = match status.as_u16() {
        401 | 403 => ErrorKind::Unauthorized,
        429 | 500..=599 => ErrorKind::Unavailable,
        400 => ErrorKind::Config,
        _ => ErrorKind::Protocol,
    };
    let mut message = format!("the server answers {}", status.as_u16());
    let text = String::from_utf8_lossy(body);
    let text = token.map_or_else(|| text.clone().into_owned(), |token| token.redact(&text));
    let text: String = text
        .trim()
        .chars()
        .take(QUOTE)
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    if !text.is_empty() {
        message = format!("{message}: {text}");
    }
    DiscoveryError::new(kind, NAME, message)
}

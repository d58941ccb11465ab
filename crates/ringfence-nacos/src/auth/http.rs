use std::time::Duration;

use reqwest::{Client, StatusCode, redirect::Policy};
use ringfence_discovery::ErrorKind;
use serde::Deserialize;

use super::Granted;
use crate::{NacosConfig, NacosLogin, failure::Failure};

const LARGEST_ANSWER: usize = 64 * 1024;
const SHORTEST_LIFE: Duration = Duration::from_secs(1);
const LONGEST_LIFE: Duration = Duration::from_secs(24 * 60 * 60);
/// The life of a token that the server says nothing of: short, since renewing early only costs a request.
const UNKNOWN_LIFE: Duration = Duration::from_secs(60);

/// Where logging in is served: by Nacos 1 and 2, then by Nacos 3.
const PATHS: [&str; 2] = ["/v1/auth/login", "/v3/auth/user/login"];

/// The login over HTTP of the servers of one Nacos.
pub(super) struct LoginEndpoint {
    http: Result<Client, Failure>,
    bases: Vec<String>,
}

#[derive(Deserialize)]
struct Answer {
    #[serde(flatten)]
    plain: Grant,
    data: Option<Grant>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Grant {
    access_token: Option<String>,
    token_ttl: Option<u64>,
}

impl LoginEndpoint {
    pub(super) fn new(config: &NacosConfig) -> Self {
        let http = Client::builder()
            // A proxy or another host must not get to see the password.
            .no_proxy()
            .redirect(Policy::none())
            .timeout(config.read_timeout)
            // Logins are rare, and a kept connection would be bound to the runtime that made it.
            .pool_max_idle_per_host(0)
            .build()
            .map_err(|error| {
                Failure::new(
                    ErrorKind::Config,
                    "the HTTP client for logging in cannot be made",
                )
                .with_cause(error)
            });
        let bases = config
            .servers
            .iter()
            .map(|server| format!("{}{}", server.http_origin(), config.context_path))
            .collect();
        Self { http, bases }
    }

    /// Logs in at one server after the other, beginning anywhere, until one grants or refuses.
    pub(super) async fn log_in(&self, login: &NacosLogin) -> Result<Granted, Failure> {
        let (user, password) = login.current().map_err(|error| {
            Failure::new(ErrorKind::Config, "user and password cannot be had").with_cause(error)
        })?;
        let form = [("username", user.as_str()), ("password", password.as_str())];
        let mut last = Failure::new(ErrorKind::Unavailable, "no server to log in at");
        let first = fastrand::usize(..self.bases.len().max(1));
        for base in self.bases.iter().cycle().skip(first).take(self.bases.len()) {
            for path in PATHS {
                match self.ask(&format!("{base}{path}"), &form).await {
                    Ok(Some(granted)) => return Ok(granted),
                    Ok(None) => {}
                    Err(failure) if failure.kind() == ErrorKind::Unauthorized => {
                        return Err(failure);
                    }
                    Err(failure) => {
                        last = failure;
                        break;
                    }
                }
            }
        }
        Err(last)
    }

    /// `None` where nothing is served under this path.
    async fn ask(&self, url: &str, form: &[(&str, &str)]) -> Result<Option<Granted>, Failure> {
        let unreachable = |error: reqwest::Error| {
            Failure::new(ErrorKind::Unavailable, "no server to log in at answers")
                .with_cause(error.without_url())
        };
        let http = self.http.as_ref().map_err(Clone::clone)?;
        let mut response = http
            .post(url)
            .form(form)
            .send()
            .await
            .map_err(unreachable)?;
        match response.status() {
            StatusCode::OK => {}
            StatusCode::NOT_FOUND
            | StatusCode::GONE
            | StatusCode::METHOD_NOT_ALLOWED
            | StatusCode::NOT_IMPLEMENTED => return Ok(None),
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                return Err(Failure::new(
                    ErrorKind::Unauthorized,
                    "the server refuses the login",
                ));
            }
            status => {
                return Err(Failure::new(
                    ErrorKind::Unavailable,
                    format!("the login is answered with status {}", status.as_u16()),
                ));
            }
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(unreachable)? {
            if body.len() + chunk.len() > LARGEST_ANSWER {
                return Err(unreadable());
            }
            body.extend_from_slice(&chunk);
        }
        parse(&body).map(Some)
    }
}

/// The parser's own error is left out: it may quote the token.
fn unreadable() -> Failure {
    Failure::new(ErrorKind::Protocol, "the login's answer cannot be read")
}

fn parse(body: &[u8]) -> Result<Granted, Failure> {
    let answer: Answer = serde_json::from_slice(body).map_err(|_| unreadable())?;
    let grant = answer.data.unwrap_or(answer.plain);
    let legal = |token: &String| {
        !token.is_empty() && token.bytes().all(|b| b.is_ascii_graphic()) && token.len() <= 16_384
    };
    let token = grant.access_token.filter(legal).ok_or_else(unreadable)?;
    let ttl = grant.token_ttl.map_or(UNKNOWN_LIFE, Duration::from_secs);
    Ok(Granted {
        token,
        ttl: ttl.clamp(SHORTEST_LIFE, LONGEST_LIFE),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_the_answer_are_read_and_the_life_is_bounded() {
        let life = |text: &str| {
            parse(text.as_bytes())
                .map(|granted| granted.ttl.as_secs())
                .ok()
        };
        assert_eq!(
            life(r#"{"accessToken":"t","tokenTtl":18000,"globalAdmin":true}"#),
            Some(18_000)
        );
        assert_eq!(
            life(r#"{"code":0,"data":{"accessToken":"t","tokenTtl":5}}"#),
            Some(5)
        );
        assert_eq!(life(r#"{"accessToken":"t"}"#), Some(60));
        assert_eq!(life(r#"{"accessToken":"t","tokenTtl":0}"#), Some(1));
        assert_eq!(
            life(r#"{"accessToken":"t","tokenTtl":18446744073709551615}"#),
            Some(86_400)
        );
    }

    #[test]
    fn an_answer_that_is_no_grant_is_an_error_that_quotes_nothing() {
        for bad in [
            "",
            "null",
            "unknown user!",
            r#"{"accessToken":"secret","tokenTtl":"x"}"#,
            r#"{"accessToken":""}"#,
            r#"{"accessToken":"a\nb"}"#,
            r#"{"data":{}}"#,
        ] {
            let failure = parse(bad.as_bytes()).err().expect(bad);
            assert!(!format!("{failure:?}").contains("secret"), "{failure:?}");
        }
    }
}

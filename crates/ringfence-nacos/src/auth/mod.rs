//! Logging in at the server: an own way, since the client library's puts the password into URLs and logs.

mod http;
#[cfg(test)]
mod tests;

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use nacos_sdk::api::plugin::{AuthContext, AuthPlugin, LoginIdentityContext, RequestResource};
use tokio::time::Instant;

use self::http::LoginEndpoint;
use crate::{NacosConfig, NacosLogin, failure::Failure};

/// Least time between two logins, so that a server that refuses is not asked in a loop.
const LEAST_PAUSE: Duration = Duration::from_secs(1);

/// The token of one user at one Nacos, logged in again before it expires.
pub(crate) struct Auth {
    login: NacosLogin,
    endpoint: LoginEndpoint,
    token: Mutex<Option<Token>>,
    /// Held over a login, so that there is one at a time; what the last one failed with, and when.
    gate: tokio::sync::Mutex<Option<(Instant, Failure)>>,
}

#[derive(Clone)]
struct Token {
    value: Arc<str>,
    since: Instant,
    renew_at: Instant,
    expires_at: Instant,
}

/// What the server gave for a login.
struct Granted {
    token: String,
    ttl: Duration,
}

impl Auth {
    pub(crate) fn new(login: NacosLogin, config: &NacosConfig) -> Self {
        Self {
            login,
            endpoint: LoginEndpoint::new(config),
            token: Mutex::default(),
            gate: tokio::sync::Mutex::default(),
        }
    }

    /// Sees to it that there is a token with some life left.
    ///
    /// # Errors
    /// When there is none and the login fails.
    pub(crate) async fn ensure(&self) -> Result<(), Failure> {
        if self.is_fresh() {
            return Ok(());
        }
        let mut gate = self.gate.lock().await;
        if self.is_fresh() {
            return Ok(());
        }
        if let Some((at, failure)) = &*gate
            && at.elapsed() < LEAST_PAUSE
        {
            return self.stale_or(failure.clone());
        }
        match self.endpoint.log_in(&self.login).await {
            Ok(granted) => {
                self.keep(granted);
                *gate = None;
                Ok(())
            }
            Err(failure) => {
                let reason = failure.message();
                match &*gate {
                    // Tried again every second for as long as an outage lasts.
                    Some((_, last)) if last.message() == reason => {
                        tracing::debug!(reason, "login at nacos failed again");
                    }
                    _ => tracing::warn!(reason, "login at nacos failed"),
                }
                *gate = Some((Instant::now(), failure.clone()));
                self.stale_or(failure)
            }
        }
    }

    /// The server refused the token: the next [`ensure`](Self::ensure) logs in again, unless the token is brand new.
    pub(crate) fn doubt(&self) {
        let mut token = self.token.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(token) = &mut *token
            && token.since.elapsed() >= LEAST_PAUSE
        {
            token.renew_at = Instant::now();
        }
    }

    /// The token of now, for calls that are made here.
    pub(crate) fn token(&self) -> Option<Arc<str>> {
        Some(self.current()?.value)
    }

    fn current(&self) -> Option<Token> {
        self.token
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn is_fresh(&self) -> bool {
        self.current()
            .is_some_and(|token| Instant::now() < token.renew_at)
    }

    /// A token that should have been renewed is good until it expires.
    fn stale_or(&self, failure: Failure) -> Result<(), Failure> {
        match self.current() {
            Some(token) if Instant::now() < token.expires_at => Ok(()),
            _ => Err(failure),
        }
    }

    fn keep(&self, granted: Granted) {
        let now = Instant::now();
        // Halfway on average, and not all processes of a fleet at once.
        let share = 0.4 + 0.2 * fastrand::f64();
        *self.token.lock().unwrap_or_else(PoisonError::into_inner) = Some(Token {
            value: granted.token.into(),
            since: now,
            renew_at: now + granted.ttl.mul_f64(share),
            expires_at: now + granted.ttl,
        });
    }
}

/// How the client library asks for the token.
#[async_trait::async_trait]
impl AuthPlugin for Auth {
    /// Called once before the first request and every 30 s. Reads of ours see to the token themselves, so this only matters
    /// for what the library does by itself.
    async fn login(&self, _: Arc<Vec<String>>, _: Arc<AuthContext>) {
        // A failure is logged and tried again; the reads report it.
        let _ = self.ensure().await;
    }

    fn get_login_identity(&self, _: RequestResource) -> LoginIdentityContext {
        let context = LoginIdentityContext::default();
        match self.current() {
            Some(token) => context.add_context("accessToken", &*token.value),
            None => context,
        }
    }
}

//! The client for one server, made when it is first used and closed when nobody uses it.

use std::sync::{
    Arc, Weak,
    atomic::{AtomicU64, Ordering},
};

use etcd_client::{Client, ConnectOptions};
use tokio::sync::Mutex;

use super::{Failure, Fault};
use crate::EtcdConfig;

/// A client and the server that it speaks to.
pub(crate) struct Link {
    pub(crate) client: Client,
    /// Position of the server in the configuration.
    pub(crate) index: usize,
    tokens: AtomicU64,
}

/// Which of the tokens of a link, one after the other, a call was made with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token(u64);

impl Link {
    /// The token of now.
    pub(crate) fn token(&self) -> Token {
        Token(self.tokens.load(Ordering::Acquire))
    }
}

pub(super) struct Slot {
    endpoint: String,
    index: usize,
    /// Held while logging in, so that many watches that start at once share one login. Every wait for it has a deadline.
    link: Mutex<Weak<Link>>,
}

impl Slot {
    pub(super) fn new(endpoint: String, index: usize) -> Self {
        Self {
            endpoint,
            index,
            link: Mutex::default(),
        }
    }

    pub(super) async fn link(&self, config: &EtcdConfig) -> Result<Arc<Link>, Failure> {
        let mut known = self.link.lock().await;
        if let Some(link) = known.upgrade() {
            return Ok(link);
        }
        let client = match connect(&self.endpoint, config, true).await {
            Err(failure) if failure.fault == Fault::NoLogin => {
                connect(&self.endpoint, config, false).await?
            }
            other => other?,
        };
        let link = Arc::new(Link {
            client,
            index: self.index,
            tokens: AtomicU64::new(0),
        });
        *known = Arc::downgrade(&link);
        Ok(link)
    }

    /// Gets a new token for a link, unless somebody did since `refused` was the one of now. Where the password that the link has
    /// is refused as well, it may have been changed: a new link is made with credentials asked for anew.
    pub(super) async fn renew_token(
        &self,
        link: &Arc<Link>,
        refused: Token,
        config: &EtcdConfig,
    ) -> Result<Arc<Link>, Failure> {
        match self.refresh(link, refused).await {
            Err(failure) if failure.fault == Fault::Credentials => {
                {
                    let mut known = self.link.lock().await;
                    // Somebody else may have made the new one already.
                    if known.as_ptr() == Arc::as_ptr(link) {
                        *known = Weak::new();
                    }
                }
                self.link(config).await
            }
            Err(failure) => Err(failure),
            Ok(()) => Ok(Arc::clone(link)),
        }
    }

    async fn refresh(&self, link: &Link, refused: Token) -> Result<(), Failure> {
        let _one_at_a_time = self.link.lock().await;
        if link.token() != refused {
            return Ok(());
        }
        link.client.refresh_token().await?;
        link.tokens.fetch_add(1, Ordering::Release);
        Ok(())
    }

    /// The next link is made anew, with credentials asked for anew.
    pub(super) async fn forget(&self) {
        *self.link.lock().await = Weak::new();
    }
}

async fn connect(endpoint: &str, config: &EtcdConfig, login: bool) -> Result<Client, Failure> {
    let mut options = ConnectOptions::new()
        .with_connect_timeout(config.connect_timeout)
        .with_keep_alive(config.keep_alive, config.request_timeout)
        // etcd takes pings on a connection without streams for an attack.
        .with_keep_alive_while_idle(false)
        .with_require_leader(true);
    if let Some(tls) = &config.tls {
        options = options.with_tls(tls.options());
    }
    if let Some(credentials) = config.credentials.as_ref().filter(|_| login) {
        let missing = || {
            Failure::new(
                Fault::Credentials,
                "there are no credentials to log in with",
            )
        };
        let (user, password) = credentials.get().ok_or_else(missing)?;
        options = options.with_user(user, password);
    }
    Ok(Client::connect([endpoint], Some(options)).await?)
}

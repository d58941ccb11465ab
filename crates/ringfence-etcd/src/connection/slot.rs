//! The client for one server, made when it is first used and closed when nobody uses it.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use etcd_client::{Client, ConnectOptions};
use tokio::{sync::Mutex, time::Instant};

use super::{Failure, Fault};
use crate::EtcdConfig;

/// A token newer than this is not replaced again: several watches that notice at once log in once.
const FRESH_TOKEN: Duration = Duration::from_secs(1);

/// A client and the server that it speaks to.
pub(crate) struct Link {
    pub(crate) client: Client,
    /// Position of the server in the configuration.
    pub(crate) index: usize,
}

pub(super) struct Slot {
    endpoint: String,
    index: usize,
    /// Held while logging in, so that many watches that start at once share one login. Every wait for it has a deadline.
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    link: Weak<Link>,
    token_at: Option<Instant>,
}

impl Slot {
    pub(super) fn new(endpoint: String, index: usize) -> Self {
        Self {
            endpoint,
            index,
            state: Mutex::default(),
        }
    }

    pub(super) async fn link(&self, config: &EtcdConfig) -> Result<Arc<Link>, Failure> {
        let mut state = self.state.lock().await;
        if let Some(link) = state.link.upgrade() {
            return Ok(link);
        }
        let client = match connect(&self.endpoint, config, true).await {
            Err(failure) if failure.fault == Fault::NoLogin => {
                connect(&self.endpoint, config, false).await?
            }
            other => other?,
        };
        let index = self.index;
        let link = Arc::new(Link { client, index });
        state.link = Arc::downgrade(&link);
        state.token_at = Some(Instant::now());
        Ok(link)
    }

    /// Gets a new token for a link, unless somebody just did.
    pub(super) async fn renew_token(&self, link: &Link) -> Result<(), Failure> {
        let mut state = self.state.lock().await;
        if state.token_at.is_some_and(|at| at.elapsed() < FRESH_TOKEN) {
            return Ok(());
        }
        link.client.refresh_token().await?;
        state.token_at = Some(Instant::now());
        Ok(())
    }

    /// The next link is made anew, with credentials asked for anew.
    pub(super) async fn forget(&self) {
        *self.state.lock().await = State::default();
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

//! List, then watch from the revision after it; on anything odd, list again.

mod follow;
mod list;
mod view;

use std::{mem, sync::Arc, time::Duration};

use ringfence_discovery::{BoxStream, DiscoveryError, Provenance, ServiceKey, Update, unfold};

use self::follow::{End, Follow, News};
pub(crate) use self::{list::list, view::View};
use crate::{
    Codec, NAME,
    connection::{Failure, Fault, Link, Pool},
};

/// Wait before the second reading in a row that brought no working watch; it doubles up to [`MAX_WAIT`].
const FIRST_WAIT: Duration = Duration::from_millis(100);
const MAX_WAIT: Duration = Duration::from_secs(30);

type Item = Result<Update, DiscoveryError>;

/// The states of a service as they change.
pub(crate) fn watch(pool: Arc<Pool>, service: ServiceKey) -> BoxStream<'static, Item> {
    let session = Session {
        pool,
        service,
        phase: Phase::List,
        link: None,
        fruitless: 0,
        renewed_token: false,
    };
    unfold(session, |mut session| async move {
        let item = session.next().await?;
        Some((item, session))
    })
}

/// Reads the state of a service once.
pub(crate) async fn fetch(pool: &Pool, service: &ServiceKey) -> Item {
    let Some(mut view) = empty_view(pool, service) else {
        return Ok(Update::no_such_service(Provenance::live(NAME)));
    };
    match list(pool, &mut view).await {
        Ok(_) => Ok(view.update(NAME)),
        Err(failure) => Err(told(pool, service, failure)),
    }
}

fn told(pool: &Pool, service: &ServiceKey, failure: Failure) -> DiscoveryError {
    let prefix = checked_prefix(&*pool.config().codec, service);
    let failure = failure.of_keys(service, prefix.as_deref());
    failure.into_discovery(NAME)
}

/// What the keys of a service start with; `None` when no service can have this name.
pub(crate) fn checked_prefix(codec: &dyn Codec, service: &ServiceKey) -> Option<String> {
    let mut prefix = codec.prefix(service)?;
    // Without the separator `/svc/a` would bring `/svc/ab` too, and without a prefix everything.
    if !prefix.ends_with('/') {
        prefix.push('/');
    }
    (!prefix.trim_matches('/').is_empty()).then_some(prefix)
}

fn empty_view(pool: &Pool, service: &ServiceKey) -> Option<View> {
    let config = pool.config();
    let prefix = checked_prefix(&*config.codec, service)?;
    let codec = Arc::clone(&config.codec);
    let (keys, len) = (config.max_keys, config.max_value_len);
    Some(View::new(codec, service.clone(), prefix, keys, len))
}

struct Session {
    pool: Arc<Pool>,
    service: ServiceKey,
    phase: Phase,
    /// Keeps the connection from one call to the next.
    link: Option<Arc<Link>>,
    /// Readings in a row without a working watch after them.
    fruitless: u32,
    /// The token was renewed because of the watch, and no watch worked since.
    renewed_token: bool,
}

enum Phase {
    List,
    Open(View),
    Follow(Box<Follow>, View),
    /// No service can have this name; there is nothing to watch.
    Impossible,
    Over,
}

impl Session {
    async fn next(&mut self) -> Option<Item> {
        loop {
            match mem::replace(&mut self.phase, Phase::Over) {
                Phase::List => return Some(self.list().await),
                Phase::Open(view) => match Follow::open(&self.pool, &view).await {
                    Ok(follow) => {
                        self.link = Some(Arc::clone(&follow.link));
                        self.phase = Phase::Follow(Box::new(follow), view);
                    }
                    Err(failure) => return Some(self.fail(failure)),
                },
                Phase::Follow(mut follow, mut view) => match follow.next(&mut view).await {
                    Ok(news) => {
                        self.fruitless = 0;
                        self.renewed_token = false;
                        if news == News::Alive {
                            tracing::trace!(service = %self.service, "etcd watch is alive");
                        }
                        let update = view.update(NAME);
                        self.phase = Phase::Follow(follow, view);
                        return Some(Ok(update));
                    }
                    Err(End::Compacted) => {
                        tracing::debug!(service = %self.service, "etcd compacted what the watch was to start from");
                        self.phase = Phase::List;
                    }
                    Err(End::Behind) => {
                        tracing::info!(service = %self.service, "etcd is behind what it told before, reading anew");
                        self.phase = Phase::List;
                    }
                    Err(End::Failed(failure)) => {
                        if let Err(failure) = self.recover(&follow, failure).await {
                            return Some(self.fail(failure));
                        }
                        self.phase = Phase::List;
                    }
                },
                Phase::Impossible => std::future::pending().await,
                Phase::Over => return None,
            }
        }
    }

    async fn list(&mut self) -> Item {
        if self.fruitless > 1 {
            let ceiling = FIRST_WAIT.saturating_mul(1 << (self.fruitless - 2).min(16));
            tokio::time::sleep(ceiling.min(MAX_WAIT).mul_f64(fastrand::f64())).await;
        }
        self.fruitless += 1;
        let Some(mut view) = empty_view(&self.pool, &self.service) else {
            self.phase = Phase::Impossible;
            return Ok(Update::no_such_service(Provenance::live(NAME)));
        };
        match list(&self.pool, &mut view).await {
            Ok(link) => {
                self.link = Some(link);
                let update = view.update(NAME);
                self.phase = Phase::Open(view);
                Ok(update)
            }
            Err(failure) => self.fail(failure),
        }
    }

    /// Whether reading anew at once is all that a broken watch needs.
    async fn recover(&mut self, follow: &Follow, failure: Failure) -> Result<(), Failure> {
        match failure.fault {
            Fault::Node => {
                self.pool.leave(follow.link.index);
                Err(failure)
            }
            // etcd checks the token of a watch where its client does not look. Old versions call it a lack of permission.
            Fault::Token | Fault::Denied if !self.renewed_token => {
                self.renewed_token = true;
                let link = self.pool.renew_token(&follow.link, follow.token).await?;
                self.link = Some(link);
                Ok(())
            }
            Fault::Token | Fault::Denied => {
                self.pool.refused(&failure);
                Err(failure)
            }
            _ => Err(failure),
        }
    }

    fn fail(&mut self, failure: Failure) -> Item {
        self.phase = Phase::Over;
        Err(told(&self.pool, &self.service, failure))
    }
}

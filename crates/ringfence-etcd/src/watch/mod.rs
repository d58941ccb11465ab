//! List, then watch from the revision after it; on anything odd, list again.

mod follow;
mod list;
mod mirror;
mod view;

use std::{fmt, mem, sync::Arc, time::Duration};

use ringfence_discovery::{BoxStream, DiscoveryError, Provenance, ServiceKey, Update, unfold};

pub(crate) use self::mirror::{Change, Mirror};
use self::{
    follow::{End, Follow, News},
    list::list,
    view::View,
};
use crate::{
    Codec, NAME,
    connection::{Failure, Fault, Link, Pool},
};

/// Wait before the second reading in a row that brought no working watch; it doubles up to [`MAX_WAIT`].
const FIRST_WAIT: Duration = Duration::from_millis(100);
const MAX_WAIT: Duration = Duration::from_secs(30);

type Item<T> = Result<T, DiscoveryError>;

/// The states of a service as they change.
pub(crate) fn watch(pool: Arc<Pool>, service: ServiceKey) -> BoxStream<'static, Item<Update>> {
    if empty_view(&pool, &service).is_none() {
        // There can be no such service, and nothing to watch.
        return unfold(true, |first| async move {
            if !first {
                std::future::pending::<()>().await;
            }
            Some((Ok(Update::no_such_service(Provenance::live(NAME))), false))
        });
    }
    let view = {
        let (pool, service) = (Arc::clone(&pool), service.clone());
        move || {
            empty_view(&pool, &service).ok_or_else(|| {
                Failure::new(
                    Fault::Config,
                    "the codec takes back the name of the service",
                )
            })
        }
    };
    follow_up(pool, service, view)
}

/// What a mirror holds as it changes. `empty` makes one without keys, and `name` is for logs.
pub(crate) fn follow_up<M: Mirror>(
    pool: Arc<Pool>,
    name: impl fmt::Display + Send + Sync + 'static,
    empty: impl Fn() -> Result<M, Failure> + Send + Sync + 'static,
) -> BoxStream<'static, Item<M::Whole>> {
    let session = Session {
        pool,
        name,
        empty,
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
pub(crate) async fn fetch(pool: &Pool, service: &ServiceKey) -> Item<Update> {
    let Some(mut view) = empty_view(pool, service) else {
        return Ok(Update::no_such_service(Provenance::live(NAME)));
    };
    match list(pool, &mut view).await {
        Ok(_) => Ok(view.whole()),
        Err(failure) => Err(told(service, &view, failure)),
    }
}

fn told(name: &dyn fmt::Display, mirror: &impl Mirror, failure: Failure) -> DiscoveryError {
    let keys = String::from_utf8_lossy(mirror.start());
    failure.of_keys(name, &keys).into_discovery(NAME)
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

struct Session<M, N, E> {
    pool: Arc<Pool>,
    name: N,
    empty: E,
    phase: Phase<M>,
    /// Keeps the connection from one call to the next.
    link: Option<Arc<Link>>,
    /// Readings in a row without a working watch after them.
    fruitless: u32,
    /// The token was renewed because of the watch, and no watch worked since.
    renewed_token: bool,
}

enum Phase<M> {
    List,
    Open(M),
    Follow(Box<Follow>, M),
    Over,
}

impl<M, N, E> Session<M, N, E>
where
    M: Mirror,
    N: fmt::Display,
    E: Fn() -> Result<M, Failure>,
{
    async fn next(&mut self) -> Option<Item<M::Whole>> {
        loop {
            match mem::replace(&mut self.phase, Phase::Over) {
                Phase::List => return Some(self.list().await),
                Phase::Open(mirror) => match Follow::open(&self.pool, &mirror).await {
                    Ok(follow) => {
                        self.link = Some(Arc::clone(&follow.link));
                        self.phase = Phase::Follow(Box::new(follow), mirror);
                    }
                    Err(failure) => return Some(self.fail(failure)),
                },
                Phase::Follow(mut follow, mut mirror) => match follow.next(&mut mirror).await {
                    Ok(news) => {
                        self.fruitless = 0;
                        self.renewed_token = false;
                        if news == News::Alive {
                            tracing::trace!(watched = %self.name, "etcd watch is alive");
                        }
                        let whole = mirror.whole();
                        self.phase = Phase::Follow(follow, mirror);
                        return Some(Ok(whole));
                    }
                    Err(End::Compacted) => {
                        tracing::debug!(watched = %self.name, "etcd compacted what the watch was to start from");
                        self.phase = Phase::List;
                    }
                    Err(End::Behind) => {
                        tracing::info!(watched = %self.name, "etcd is behind what it told before, reading anew");
                        self.phase = Phase::List;
                    }
                    Err(End::Failed(failure)) => {
                        if let Err(failure) = self.recover(&follow, failure).await {
                            return Some(self.fail(failure));
                        }
                        self.phase = Phase::List;
                    }
                },
                Phase::Over => return None,
            }
        }
    }

    async fn list(&mut self) -> Item<M::Whole> {
        if self.fruitless > 1 {
            let ceiling = FIRST_WAIT.saturating_mul(1 << (self.fruitless - 2).min(16));
            tokio::time::sleep(ceiling.min(MAX_WAIT).mul_f64(fastrand::f64())).await;
        }
        self.fruitless += 1;
        let mut mirror = match (self.empty)() {
            Ok(mirror) => mirror,
            Err(failure) => return self.fail(failure),
        };
        match list(&self.pool, &mut mirror).await {
            Ok(link) => {
                self.link = Some(link);
                let whole = mirror.whole();
                self.phase = Phase::Open(mirror);
                Ok(whole)
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

    fn fail(&mut self, failure: Failure) -> Item<M::Whole> {
        self.phase = Phase::Over;
        Err(match (self.empty)() {
            Ok(mirror) => told(&self.name, &mirror, failure),
            Err(_) => failure.into_discovery(NAME),
        })
    }
}

//! An open watch: what it tells, and the many ways in which it ends.

use std::{future::poll_fn, pin::Pin, sync::Arc, task::Poll, time::Duration};

use etcd_client::{Client, Error, WatchOptions, WatchResponse, WatchStream};
use futures_util::Stream as _;
use tokio::time::{Instant, timeout_at};

use super::{
    list::MAX_MESSAGE,
    mirror::{Change, Mirror},
};
use crate::connection::{Failure, Fault, Link, Pool, Token, jittered};

/// Messages applied in one go when they are there already.
const BATCH: usize = 64;
const DELETE: i32 = 1;

pub(super) struct Follow {
    stream: WatchStream,
    pub(super) link: Arc<Link>,
    /// The token that it was opened with.
    pub(super) token: Token,
    silence: Duration,
    answer_limit: Duration,
    /// When silence is too long, and what is done then.
    deadline: Instant,
    waiting_for: Waiting,
    /// A change was applied whose other part is still to come.
    partial: bool,
    /// Answers in a row that told a revision below the one known.
    behind: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waiting {
    Creation,
    News,
    Answer,
}

/// What a watch told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum News {
    /// The mirror changed.
    Changed,
    /// The server is there and has nothing new.
    Alive,
}

/// Why a watch is over.
#[derive(Debug)]
pub(super) enum End {
    /// The records must be read anew: what the watch was to start from is gone.
    Compacted,
    /// The records must be read anew: the server's store is older than they are.
    Behind,
    /// The server ended it or the connection broke.
    Failed(Failure),
}

impl Follow {
    /// Opens a watch on everything after what is in `mirror`.
    pub(super) async fn open(pool: &Pool, mirror: &impl Mirror) -> Result<Self, Failure> {
        let start = i64::try_from(mirror.revision()).unwrap_or(i64::MAX - 1) + 1;
        let options = WatchOptions::new()
            .with_range(mirror.end())
            .with_start_revision(start)
            .with_progress_notify()
            .with_fragment();
        let watch = |client: Client| {
            let (first, options) = (mirror.start().to_vec(), options.clone());
            async move {
                let mut watch = client.watch_client().max_decoding_message_size(MAX_MESSAGE);
                watch.watch(first, Some(options)).await
            }
        };
        let (stream, link) = pool.call("opening the watch", watch).await?;
        let token = link.token();
        let config = pool.config();
        Ok(Self {
            stream,
            link,
            token,
            silence: config.silence_timeout,
            answer_limit: config.request_timeout,
            deadline: Instant::now() + config.request_timeout,
            waiting_for: Waiting::Creation,
            partial: false,
            behind: 0,
        })
    }

    /// Waits for news and applies them to `mirror`.
    pub(super) async fn next(&mut self, mirror: &mut impl Mirror) -> Result<News, End> {
        let mut news = self.message(mirror).await?;
        // A burst is one state, not many.
        for _ in 0..BATCH {
            let Some(message) = self.ready_message().await else {
                break;
            };
            if let Some(more) = self.apply(message?, mirror)? {
                news = if more == News::Changed { more } else { news };
            }
        }
        while self.partial {
            news = self.message(mirror).await?;
        }
        Ok(news)
    }

    async fn message(&mut self, mirror: &mut impl Mirror) -> Result<News, End> {
        loop {
            match timeout_at(self.deadline, self.stream.message()).await {
                Ok(message) => {
                    if let Some(news) = self.apply(took(message.transpose())?, mirror)? {
                        return Ok(news);
                    }
                }
                Err(_) if self.waiting_for == Waiting::News => {
                    self.stream
                        .request_progress()
                        .await
                        .map_err(|error| End::Failed(error.into()))?;
                    self.expect(Waiting::Answer, self.answer_limit);
                }
                Err(_) => {
                    let what = "an answer on the watch";
                    return Err(End::Failed(Failure::timed_out(what, self.answer_limit)));
                }
            }
        }
    }

    /// A message that is there without waiting.
    async fn ready_message(&mut self) -> Option<Result<WatchResponse, End>> {
        poll_fn(|cx| match Pin::new(&mut self.stream).poll_next(cx) {
            Poll::Ready(message) => Poll::Ready(Some(took(message))),
            Poll::Pending => Poll::Ready(None),
        })
        .await
    }

    fn apply(
        &mut self,
        message: WatchResponse,
        mirror: &mut impl Mirror,
    ) -> Result<Option<News>, End> {
        // A creation that was refused says `canceled` as well.
        if message.compact_revision() > 0 {
            return Err(End::Compacted);
        }
        if message.canceled() {
            let failure = Failure::from_cancel(message.cancel_reason());
            return Err(match failure.fault {
                Fault::Revision => End::Compacted,
                _ => End::Failed(failure),
            });
        }
        self.expect(Waiting::News, jittered(self.silence));
        if message.0.events.is_empty() {
            if message.created() {
                return Ok(None);
            }
            let revision = message.header().map_or(0, |header| header.revision());
            // A watch from a revision that a reset store has yet to reach is silent and looks alive. Old servers may tell too low
            // a revision once, so once is no evidence.
            if u64::try_from(revision).unwrap_or(0) < mirror.revision() {
                self.behind += 1;
                if self.behind > 1 {
                    return Err(End::Behind);
                }
            } else {
                self.behind = 0;
                mirror.reached(revision);
            }
            return Ok(Some(News::Alive));
        }
        for event in message.0.events {
            let Some(kv) = event.kv else { continue };
            let change = match event.r#type {
                DELETE => Change::Deleted,
                _ => Change::Put(&kv.value, kv.mod_revision),
            };
            mirror.apply(&kv.key, change).map_err(End::Failed)?;
            mirror.reached(kv.mod_revision);
        }
        self.behind = 0;
        self.partial = message.0.fragment;
        Ok(Some(News::Changed))
    }

    fn expect(&mut self, waiting_for: Waiting, limit: Duration) {
        self.waiting_for = waiting_for;
        self.deadline = Instant::now() + limit;
    }
}

fn took(message: Option<Result<WatchResponse, Error>>) -> Result<WatchResponse, End> {
    match message {
        Some(Ok(message)) => Ok(message),
        Some(Err(error)) => Err(End::Failed(error.into())),
        None => Err(End::Failed(Failure::new(
            Fault::Node,
            "the server closed the watch",
        ))),
    }
}

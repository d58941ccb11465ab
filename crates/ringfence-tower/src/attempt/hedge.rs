//! A second attempt beside one that is slow.

use std::convert::Infallible;
use std::future::pending;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{Either, select};
use ringfence_balancer::{Decision, FailureKind, InFlight, Outcome};
use tokio::time::timeout;

use super::failed::{Failed, status_text};
use super::in_hand::InHand;
use super::places::begin_next;
use super::trail::Trail;
use super::{Call, Ended, until};
use crate::body::RequestBody;
use crate::classify::{Failure, Verdict};
use crate::error::BoxError;
use crate::retry::RetryPolicy;
use crate::settings::Settings;
use crate::transport::Transport;

impl<S> Call<S> {
    /// One attempt, and where it has no answer after `delay`, a second one beside it at the next candidate. The first good answer
    /// of the two is it, and the other attempt is given up; where both fail, it is the later failure.
    pub(super) async fn hedged<B>(
        &mut self,
        decision: &Decision,
        delay: Duration,
        in_hand: &mut InHand<B>,
        trail: &mut Trail,
    ) -> Ended<S::ResponseBody>
    where
        S: Transport<B>,
        B: RequestBody,
    {
        let deadline = self.deadline;
        // It outlives the race, so that the end of the time can be put down to both instances.
        let mut beside = None;
        let race = (&mut *trail, &mut beside);
        let raced = self.raced(decision, delay, in_hand, race);
        let ended = until(deadline, pin!(raced)).await;
        ended.unwrap_or_else(|| {
            if let Some(beside) = beside {
                trail.late_beside(beside);
            }
            Err(Failed::Late)
        })
    }

    async fn raced<B>(
        &mut self,
        decision: &Decision,
        delay: Duration,
        in_hand: &mut InHand<B>,
        (trail, running): (&mut Trail, &mut Option<Trail>),
    ) -> Ended<S::ResponseBody>
    where
        S: Transport<B>,
        B: RequestBody,
    {
        let (begun, call) = self.begin(in_hand, trail).await?;
        let mut first = pin!(begun.until_end(call));
        if let Ok(ended) = timeout(delay, first.as_mut()).await {
            return self.judged::<B>(trail, &begun, ended);
        }
        let Some((attempt, mut beside)) = self.hedge(decision, in_hand) else {
            let ended = first.await;
            return self.judged::<B>(trail, &begun, ended);
        };
        trail.attempt_beside();
        let hedge = running.insert(trail.beside());
        trail.log_hedge(&self.settings, attempt.instance());
        hedge.begin(attempt);
        let mut call = Call {
            transport: self.transport.clone(),
            settings: Arc::clone(&self.settings),
            is_delayed: true,
            ..*self
        };
        let mut second = Box::pin(async move {
            let (begun, calling) = call.begin(&mut beside, hedge).await?;
            let ended = begun.until_end(calling).await;
            call.judged::<B>(hedge, &begun, ended)
        });
        let (over, is_first) = match select(first.as_mut(), second.as_mut()).await {
            Either::Left((ended, _)) => {
                match self.last_word(self.judged::<B>(trail, &begun, ended)) {
                    Ok(last) => return last,
                    Err(over) => (over, true),
                }
            }
            Either::Right((ended, _)) => match self.last_word(ended) {
                Ok(last) => {
                    drop(second);
                    trail.overtaken_by(running.take());
                    return last;
                }
                Err(over) => (over, false),
            },
        };
        if is_first {
            over.note(&self.settings, trail);
            // At the deadline the one that is waited for is to be found in the trail.
            // A block, because an answer need not be `Send`, and must not be kept over the wait behind it.
            {
                let ended = until(self.deadline, second.as_mut()).await;
                drop(second);
                trail.overtaken_by(running.take());
                if let Some(ended) = ended {
                    return ended;
                }
            }
            match pending::<Infallible>().await {}
        }
        drop(second);
        if let Some(mut hedge) = running.take() {
            over.note(&self.settings, &mut hedge);
            trail.joined_by(hedge);
        }
        let ended = first.await;
        self.judged::<B>(trail, &begun, ended)
    }

    /// What a further attempt needs, unless there may be none.
    fn hedge<B: RequestBody>(
        &mut self,
        decision: &Decision,
        in_hand: &mut InHand<B>,
    ) -> Option<(InFlight, InHand<B>)> {
        if self.is_late() {
            return None;
        }
        let mut tried = self.tried;
        let attempt = begin_next(decision, &mut tried, false)?;
        let beside = in_hand.beside()?;
        // Last, because what it grants counts as made.
        if !self.settings.balancer.try_hop() {
            return None;
        }
        self.tried = tried;
        Some((attempt, beside))
    }

    /// The end of one of two attempts, unless the other one could do better.
    fn last_word<R>(&self, ended: Ended<R>) -> Result<Ended<R>, Over> {
        match ended {
            Ok(response) if self.judge(&response) == Verdict::Unavailable => {
                Err(Over::Refused(status_text(&response)))
            }
            Err(Failed::Attempt {
                failure,
                outcome,
                error,
                ..
            }) if self.settings.retry.allows(failure, true) => Err(Over::Failed {
                failure,
                outcome,
                error,
            }),
            last => Ok(last),
        }
    }
}

/// Why one of two attempts is over, while the other goes on.
enum Over {
    Refused(String),
    Failed {
        failure: Failure,
        outcome: Outcome,
        error: BoxError,
    },
}

impl Over {
    fn note(self, settings: &Settings, trail: &mut Trail) {
        match self {
            Self::Refused(status) => {
                trail.refused();
                trail.ended(Outcome::Failure(FailureKind::Status), status);
            }
            Self::Failed {
                failure,
                outcome,
                error,
            } => {
                if RetryPolicy::is_surely_unprocessed(failure) {
                    trail.not_sent();
                }
                trail.ended_with(outcome, &*error);
            }
        }
        trail.log_hop(settings);
    }
}

//! The attempts after the first one.

use std::ops::ControlFlow;
use std::time::Duration;

use ringfence_balancer::Decision;
use tokio::time::sleep;

use super::hedge::Ahead;
use super::in_hand::InHand;
use super::one::How;
use super::places::begin_next;
use super::trail::Trail;
use super::{Answer, Call};
use crate::body::RequestBody;
use crate::error::Error;
use crate::transport::Transport;

impl<S> Call<'_, S> {
    /// The attempts after the first one, for which so many candidates of the decision were `tried`.
    pub(super) async fn further<B>(
        &mut self,
        decision: &Decision,
        mut tried: usize,
        mut pause: Duration,
        in_hand: &mut InHand<B>,
        trail: &mut Trail,
    ) -> Result<Answer<S::ResponseBody>, Error>
    where
        S: Transport<B>,
        B: RequestBody,
    {
        let all = decision.candidates_and_last_resorts().len();
        loop {
            trail.log_hop(self.settings);
            if !pause.is_zero() {
                sleep(pause).await;
            }
            let Some(attempt) = begin_next(decision, &mut tried, true) else {
                // Those that are left have as many requests as they may.
                return Err(trail.full(self.settings));
            };
            if tried == all {
                in_hand.forget_replay();
            }
            trail.begin(attempt);
            let ended = match self.hedging() {
                None => {
                    let how = How {
                        is_delayed: true,
                        ends_with_call: true,
                    };
                    let attempt = self.attempt(how, in_hand, trail);
                    attempt.await
                }
                Some(delay) => {
                    let ahead = Ahead::new(decision, &mut tried);
                    let hedged = self.hedged(ahead, delay, true, in_hand, trail);
                    Box::pin(hedged).await
                }
            };
            pause = match self.settle(ended, all - tried, in_hand, trail) {
                ControlFlow::Break(answer) => return answer,
                ControlFlow::Continue(pause) => pause,
            };
        }
    }
}

//! Asking lost instances themselves, while their loss is held back.

use std::{
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use ringfence_core::Instance;
use tokio::time::Instant;

use super::{Supervisor, guarded::guarded};
use crate::{BoxFuture, LossProbes, Probe, ProbeError, ServiceState};

/// Instances that are asked at one time, and how many such waves make a round: 32 instances at most, drawn at random.
const CONCURRENCY: usize = 8;
const WAVES: u8 = 4;
const SAMPLE: usize = CONCURRENCY * WAVES as usize;
/// How long an instance may take to answer, where the hold is long enough.
const ANSWER_WITHIN: Duration = Duration::from_secs(1);
/// However many still answer, the registry is believed after so many times the hold.
pub(super) const LONGEST_HOLD: u32 = 10;

pub(super) struct Inquiry {
    probe: Arc<dyn Probe>,
    hold_for: Duration,
    /// Those of the held loss that served.
    lost: Vec<Arc<Instance>>,
    round: Option<Round>,
    next_at: Option<Instant>,
    /// What the last round found out.
    last: Option<LossProbes>,
}

struct Round {
    to_ask: Vec<Arc<Instance>>,
    asking: Vec<Question>,
    answers: LossProbes,
}

struct Question {
    answer: BoxFuture<'static, Result<(), ProbeError>>,
    until: Instant,
}

impl Inquiry {
    fn new(probe: Arc<dyn Probe>, hold_for: Duration) -> Self {
        Self {
            probe,
            hold_for,
            lost: Vec::new(),
            round: None,
            next_at: None,
            last: None,
        }
    }

    fn deadline(&self) -> Option<Instant> {
        match &self.round {
            Some(round) => round.asking.iter().map(|question| question.until).min(),
            None => self.next_at,
        }
    }

    /// A round takes half of the hold at most, so that it is over before the hold is.
    fn answer_within(&self) -> Duration {
        ANSWER_WITHIN.min(self.hold_for / (2 * u32::from(WAVES)))
    }

    fn begin(&mut self, rng: &mut fastrand::Rng) {
        self.next_at = None;
        let mut to_ask = self.lost.clone();
        rng.shuffle(&mut to_ask);
        to_ask.truncate(SAMPLE);
        self.round = Some(Round {
            to_ask,
            asking: Vec::new(),
            answers: LossProbes::default(),
        });
    }

    /// Carries on with the round under way. Ready with what it found out.
    fn poll(&mut self, cx: &mut Context<'_>, now: Instant) -> Poll<LossProbes> {
        let limit = self.answer_within();
        let Some(round) = &mut self.round else {
            return Poll::Pending;
        };
        loop {
            while round.asking.len() < CONCURRENCY
                && let Some(instance) = round.to_ask.pop()
            {
                let probe = Arc::clone(&self.probe);
                round.answers.asked += 1;
                round.asking.push(Question {
                    answer: Box::pin(async move { probe.probe(&instance).await }),
                    until: now + limit,
                });
            }
            let under_way = round.asking.len();
            let answers = &mut round.answers;
            round.asking.retain_mut(|question| {
                match guarded(|| "probe", || question.answer.as_mut().poll(cx)) {
                    Ok(Poll::Pending) => question.until > now,
                    Ok(Poll::Ready(Ok(()))) => {
                        answers.answered += 1;
                        false
                    }
                    Ok(Poll::Ready(Err(_))) | Err(_) => false,
                }
            });
            if round.asking.is_empty() && round.to_ask.is_empty() {
                break;
            }
            if round.asking.len() == under_way || round.to_ask.is_empty() {
                return Poll::Pending;
            }
        }
        let answers = round.answers;
        self.round = None;
        self.last = Some(answers);
        self.next_at = Some(now + self.hold_for / 4);
        Poll::Ready(answers)
    }
}

impl Supervisor {
    /// Asks lost instances themselves while the loss of all or most of them is held back; without a probe the time decides alone.
    ///
    /// Up to 32 of those that are gone and were healthy are asked, drawn at random, eight at a time, each for a second at most.
    /// - If more than half of them still answer, the registry is wrong or about to be corrected: the hold goes on, and they are
    ///   asked again a quarter of a hold later. After ten times the hold the registry is believed all the same, with a warning:
    ///   processes that answer may have been taken out on purpose.
    /// - If none answers, the loss is believed as soon as one more reading says the same, without waiting for the hold's end.
    /// - In between, the hold ends as it does without a probe.
    ///
    /// [`HoldStatus::probes`](crate::HoldStatus::probes) tells what the last round found. It has no effect
    /// [without a hold](crate::WatchConfig::without_hold).
    ///
    /// # Examples
    /// ```
    /// use std::sync::Arc;
    /// use ringfence_discovery::{MemoryRegistry, ServiceKey, Supervisor, TcpProbe, WatchConfig};
    ///
    /// let registry = Arc::new(MemoryRegistry::new());
    /// let supervisor = Supervisor::new(registry, ServiceKey::new("order"), WatchConfig::default())
    ///     .with_loss_probe(Arc::new(TcpProbe));
    /// # let _ = supervisor;
    /// ```
    pub fn with_loss_probe(mut self, probe: Arc<dyn Probe>) -> Self {
        let hold_for = self.config.empty_hold();
        self.inquiry = hold_for.map(|hold_for| Inquiry::new(probe, hold_for));
        self
    }

    /// A state is held back; `read` is the newest of its kind.
    pub(super) fn note_lost(&mut self, read: &ServiceState, begins_at: Option<Instant>) {
        let Some(inquiry) = &mut self.inquiry else {
            return;
        };
        inquiry.lost = self.ledger.lost(read);
        if begins_at.is_some() {
            inquiry.round = None;
            inquiry.last = None;
            inquiry.next_at = begins_at.filter(|_| !inquiry.lost.is_empty());
        }
    }

    pub(super) fn end_inquiry(&mut self) {
        if let Some(inquiry) = &mut self.inquiry {
            inquiry.lost = Vec::new();
            inquiry.round = None;
            inquiry.next_at = None;
            inquiry.last = None;
        }
    }

    pub(super) fn inquiry_deadline(&self) -> Option<Instant> {
        self.inquiry.as_ref()?.deadline()
    }

    pub(super) fn probes_of_loss(&self) -> Option<LossProbes> {
        self.inquiry.as_ref()?.last
    }

    pub(super) fn poll_inquiry(&mut self, cx: &mut Context<'_>, now: Instant) -> bool {
        let Some(inquiry) = &mut self.inquiry else {
            return false;
        };
        if inquiry.next_at.is_some_and(|at| at <= now) {
            inquiry.begin(&mut self.rng);
        }
        let Poll::Ready(answers) = inquiry.poll(cx, now) else {
            return false;
        };
        let hold_for = inquiry.hold_for;
        self.status.counters.loss_probe_rounds += 1;
        self.heed(answers, hold_for, now);
        self.show_hold();
        self.status_changed = true;
        true
    }

    fn heed(&mut self, answers: LossProbes, hold_for: Duration, now: Instant) {
        let LossProbes { asked, answered } = answers;
        let Some(hold) = self.ledger.hold_mut().filter(|_| asked > 0) else {
            return;
        };
        let until = if answered == 0 {
            now
        } else if answered * 2 > asked {
            (now + hold_for).min(hold.since + hold_for * LONGEST_HOLD)
        } else {
            return;
        };
        if answered == 0 && hold.until > until {
            hold.until = until;
            tracing::warn!(service = %self.service, asked, "none of the lost instances answers; the loss is believed if it is read again");
            self.status.counters.holds_cut += 1;
            self.reader.on_hold(now, until);
        } else if answered > 0 && hold.until < until {
            hold.until = until;
            tracing::warn!(service = %self.service, asked, answered, "lost instances still answer; the hold goes on");
            self.status.counters.holds_extended += 1;
            self.reader.on_hold_extended(until);
        }
    }
}

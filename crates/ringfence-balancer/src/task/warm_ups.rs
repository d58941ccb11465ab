//! New instances on their way to their first requests.

use std::{
    collections::{HashSet, VecDeque},
    sync::Arc,
    time::Duration,
};

use ringfence_core::Newcomers;
use ringfence_discovery::ServiceKey;
use tokio::time::{Instant, sleep, timeout_at};

use super::runner::{self, Runner};
use crate::{
    Candidate, WarmUp,
    node::{NodeIdentity, Seat},
};

/// Instances that are warmed at a time.
const MAX_RUNNING: usize = 16;
/// Between one try and the next.
const PAUSE: Duration = Duration::from_millis(100);

/// A warm-up that is over.
pub(super) struct Ended {
    pub(super) identity: NodeIdentity,
    /// Why it did not succeed.
    pub(super) error: Option<String>,
}

struct Turn {
    seat: Arc<Seat>,
    service: ServiceKey,
    until: Instant,
}

/// The warm-ups that run and those that wait for their turn. They end when it is dropped.
pub(super) struct WarmUps {
    settings: Option<(Arc<dyn WarmUp>, Duration)>,
    waiting: VecDeque<Turn>,
    runner: Runner<Option<String>>,
    /// Those whose instance went in the midst of it.
    cut: HashSet<NodeIdentity>,
}

impl WarmUps {
    pub(super) fn new(settings: Option<(Arc<dyn WarmUp>, Duration)>) -> Self {
        Self {
            settings,
            waiting: VecDeque::new(),
            runner: Runner::new(MAX_RUNNING),
            cut: HashSet::new(),
        }
    }

    pub(super) fn is_on(&self) -> bool {
        self.settings.is_some()
    }

    /// Whether an instance went before it was warm; asked once.
    pub(super) fn was_cut(&mut self, identity: &NodeIdentity) -> bool {
        self.cut.remove(identity)
    }

    pub(super) fn add(&mut self, seat: Arc<Seat>, service: &ServiceKey) {
        let Some((_, timeout)) = &self.settings else {
            return;
        };
        self.waiting.push_back(Turn {
            seat,
            service: service.clone(),
            until: Instant::now() + *timeout,
        });
        self.start();
    }

    /// Ends those of instances that are gone.
    pub(super) fn cut_off(&mut self, newcomers: &Newcomers<NodeIdentity>) {
        let cut = &mut self.cut;
        self.runner.retain(|identity| {
            let stays = newcomers.is_member(identity);
            if !stays {
                cut.insert(identity.clone());
            }
            stays
        });
        self.waiting.retain(|turn| {
            let identity = NodeIdentity::of(&turn.seat.instance);
            let stays = newcomers.is_member(&identity);
            if !stays {
                cut.insert(identity);
            }
            stays
        });
        // Whoever is away for longer is new when it comes back.
        cut.retain(|identity| newcomers.is_known(identity));
        self.start();
    }

    /// The next one that is over. Cancel safe.
    pub(super) async fn next(&mut self) -> Ended {
        let ended = self.runner.next().await;
        self.ended(ended)
    }

    /// One that is over by now.
    pub(super) fn try_next(&mut self) -> Option<Ended> {
        let ended = self.runner.try_next()?;
        Some(self.ended(ended))
    }

    fn ended(&mut self, (identity, result): runner::Ended<Option<String>>) -> Ended {
        self.start();
        let error = result.unwrap_or_else(|_| Some("the warm-up panicked".to_owned()));
        Ended { identity, error }
    }

    fn start(&mut self) {
        let Some((warm_up, _)) = &self.settings else {
            return;
        };
        while self.runner.has_room()
            && let Some(turn) = self.waiting.pop_front()
        {
            let identity = NodeIdentity::of(&turn.seat.instance);
            self.runner.start(identity, run(Arc::clone(warm_up), turn));
        }
    }
}

async fn run(warm_up: Arc<dyn WarmUp>, turn: Turn) -> Option<String> {
    let Turn {
        seat,
        service,
        until,
    } = turn;
    let candidate = Candidate::new(seat);
    let mut last = "no answer in time".to_owned();
    let tries = async {
        while let Err(error) = warm_up.warm(&candidate, &service).await {
            last = error.to_string();
            sleep(PAUSE).await;
        }
    };
    let warmed = timeout_at(until, tries).await;
    warmed.is_err().then_some(last)
}

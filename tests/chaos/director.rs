//! Faults one after the other, chosen by a seed.

use std::{fmt, time::Duration};

use fastrand::Rng;
use ringfence::discovery::ErrorKind;
use ringfence_testkit::ScriptedDiscovery;
use tokio::time::{Instant, sleep};

use crate::fleet::Fleet;

/// What goes wrong for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Episode {
    /// Processes end without a word, and start again.
    Kill,
    /// All processes but one do.
    KillAllButOne,
    /// Processes get no time.
    Freeze,
    /// Answers come later than the limit of an attempt.
    Slow,
    /// Answers are errors, in trailers alone.
    Status,
    /// Streams are reset.
    Reset,
    /// Connections are cut.
    Cut,
    /// Connections are told to go away.
    GoAway,
    /// The registry is away.
    Outage,
    /// The registry is away, and a process is killed meanwhile.
    OutageAndKill,
    /// Instances leave the registry, and come back.
    Leave,
    /// All are stopped and started, one after the other, and the registry is told.
    Restarts,
}

impl Episode {
    pub(crate) const ALL: [Self; 12] = [
        Self::Kill,
        Self::KillAllButOne,
        Self::Freeze,
        Self::Slow,
        Self::Status,
        Self::Reset,
        Self::Cut,
        Self::GoAway,
        Self::Outage,
        Self::OutageAndKill,
        Self::Leave,
        Self::Restarts,
    ];
}

/// Brings the faults about.
pub(crate) struct Director<'a> {
    pub(crate) fleet: &'a mut Fleet,
    pub(crate) registry: &'a ScriptedDiscovery,
    pub(crate) rng: Rng,
    pub(crate) start: Instant,
}

impl Director<'_> {
    /// Each kind of episode once, and then any of them until the time is over. All is well at the end.
    pub(crate) async fn play(&mut self, time: Duration) {
        let mut first = Episode::ALL.to_vec();
        self.rng.shuffle(&mut first);
        while self.start.elapsed() < time || !first.is_empty() {
            let episode = first
                .pop()
                .unwrap_or_else(|| Episode::ALL[self.rng.usize(..Episode::ALL.len())]);
            let mut victims: Vec<_> = (0..self.fleet.len()).collect();
            self.rng.shuffle(&mut victims);
            let count = match episode {
                Episode::KillAllButOne => victims.len() - 1,
                Episode::Restarts => victims.len(),
                Episode::OutageAndKill => 1,
                _ => self.rng.usize(1..=2),
            };
            victims.truncate(count);
            self.tell(format_args!("{episode:?} {victims:?}"));
            self.play_one(episode, &victims).await;
            self.pause(200..800).await;
        }
    }

    fn tell(&self, what: fmt::Arguments<'_>) {
        println!("{:7.3} s: {what}", self.start.elapsed().as_secs_f64());
    }

    async fn pause(&mut self, millis: std::ops::Range<u64>) {
        sleep(Duration::from_millis(self.rng.u64(millis))).await;
    }

    async fn play_one(&mut self, episode: Episode, victims: &[usize]) {
        match episode {
            Episode::Kill | Episode::KillAllButOne => self.kill(victims).await,
            Episode::Freeze => {
                victims.iter().for_each(|&place| self.fleet.freeze(place));
                self.pause(300..2_000).await;
                victims.iter().for_each(|&place| self.fleet.thaw(place));
            }
            Episode::Slow => self.order(victims, "slow 400").await,
            Episode::Status => self.order(victims, "status 14").await,
            Episode::Reset => self.order(victims, "reset").await,
            Episode::Cut => self.order(victims, "cut").await,
            Episode::GoAway => {
                for _ in 0..3 {
                    victims
                        .iter()
                        .for_each(|&place| self.fleet.order(place, "goaway"));
                    self.pause(50..150).await;
                }
            }
            Episode::Outage | Episode::OutageAndKill => {
                self.registry.go_down(ErrorKind::Unavailable);
                if episode == Episode::OutageAndKill {
                    self.kill(victims).await;
                }
                self.pause(500..2_000).await;
                self.registry.go_up();
            }
            Episode::Leave => {
                self.registry.push_instances(self.without(victims));
                self.pause(300..1_500).await;
                self.registry.push_instances(self.fleet.instances());
            }
            Episode::Restarts => {
                for &place in victims {
                    self.registry.push_instances(self.without(&[place]));
                    self.pause(20..60).await;
                    self.fleet.stop(place);
                    self.fleet.launch(place);
                    self.registry.push_instances(self.fleet.instances());
                    self.pause(20..60).await;
                }
            }
        }
    }

    async fn kill(&mut self, victims: &[usize]) {
        victims.iter().for_each(|&place| self.fleet.kill(place));
        self.pause(300..1_500).await;
        victims.iter().for_each(|&place| self.fleet.launch(place));
    }

    async fn order(&mut self, victims: &[usize], fault: &str) {
        victims
            .iter()
            .for_each(|&place| self.fleet.order(place, fault));
        self.pause(300..1_500).await;
        victims
            .iter()
            .for_each(|&place| self.fleet.order(place, "well"));
    }

    fn without(&self, victims: &[usize]) -> Vec<ringfence::Instance> {
        let stays = |place: &usize| !victims.contains(place);
        (0..self.fleet.len())
            .filter(stays)
            .map(|place| self.fleet.instance(place))
            .collect()
    }
}

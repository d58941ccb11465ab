//! A fleet of which some instances fail, by a virtual clock: what is decided, and whether it may be.

use std::collections::BTreeMap;

use super::*;

/// SplitMix64.
struct Draws(u64);

impl Draws {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn unit(&mut self) -> f64 {
        f64::from(u32::try_from(self.next() >> 32).unwrap_or_default()) / 4_294_967_296.0
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

/// An instance as the fleet has it.
#[derive(Default)]
struct Server {
    fails: bool,
    is_member: bool,
    in_a_row: u32,
    trial_successes: u32,
    /// Since the last step of forgiveness, or the last ejection.
    successes: u64,
    tally: (u64, u64),
    /// As of the last decision.
    times: u32,
}

struct Simulation {
    seed: u64,
    draws: Draws,
    config: OutlierConfig,
    detector: OutlierDetector<usize>,
    servers: Vec<Server>,
    start: Instant,
    now: Instant,
    next_sweep: Instant,
    log: Vec<(Duration, OutlierEvent<usize>)>,
}

impl Simulation {
    fn new(seed: u64) -> Self {
        let mut draws = Draws(seed);
        let rate = SuccessRateConfig::default().with_request_volume(20);
        let percentage = FailurePercentageConfig::default()
            .with_request_volume(10)
            .and_then(|config| config.with_enforcement_percentage(50));
        let trials = u32::try_from(draws.below(3)).unwrap_or_default();
        let share = u32::try_from(draws.below(101)).unwrap_or_default();
        let config = OutlierConfig::default()
            .with_success_rate(rate.expect("in range"))
            .with_failure_percentage(percentage.expect("in range"))
            .with_max_ejection_percent(share)
            .and_then(|config| config.with_trial_requests(trials))
            .expect("in range")
            .with_always_eject_one(draws.chance(50));
        let mut servers: Vec<Server> = Vec::new();
        servers.resize_with(usize::try_from(draws.below(30)).unwrap_or_default(), || {
            Server {
                is_member: true,
                ..Server::default()
            }
        });
        let start = Instant::now();
        Self {
            seed,
            draws,
            config,
            detector: OutlierDetector::new(config),
            servers,
            start,
            now: start,
            next_sweep: start + config.interval(),
            log: Vec::new(),
        }
    }

    fn run(mut self) -> Vec<(Duration, OutlierEvent<usize>)> {
        self.resize();
        for _ in 0..1_500 {
            self.now += Duration::from_millis(self.draws.below(1_000));
            self.step();
            self.check();
        }
        self.log
    }

    fn step(&mut self) {
        let due = self.detector.deadline();
        if due.is_some_and(|due| due <= self.now) {
            let events = self.detector.due(self.now);
            self.record(events);
        }
        if self.next_sweep <= self.now {
            self.next_sweep = self.now + self.config.interval();
            self.sweep();
        }
        if self.draws.chance(2) {
            self.come_and_go();
        }
        for key in 0..self.servers.len() {
            let probed = self.draws.chance(10) && self.detector.to_probe().any(|k| *k == key);
            if probed {
                let serves = !self.servers[key].fails;
                let decision = self.detector.probed(&key, serves, self.now);
                self.decided(key, decision);
            }
            for _ in 0..self.draws.below(8) {
                self.request(key);
            }
        }
    }

    fn come_and_go(&mut self) {
        for server in &mut self.servers {
            if self.draws.chance(20) {
                server.fails = !server.fails;
            }
            if self.draws.chance(10) {
                server.is_member = !server.is_member;
            }
        }
        self.resize();
    }

    fn resize(&mut self) {
        let total = self.servers.iter().filter(|s| s.is_member).count();
        let servers = &self.servers;
        let member = |key: &usize| servers[*key].is_member.then_some(true);
        let events = self.detector.resize(total, total, member, self.now);
        self.record(events);
    }

    fn sweep(&mut self) {
        let mut tallies = Vec::new();
        for (key, server) in self.servers.iter_mut().enumerate() {
            let (successes, failures) = std::mem::take(&mut server.tally);
            if server.is_member {
                tallies.push(MemberTally {
                    key,
                    healthy: true,
                    successes,
                    failures,
                });
            }
        }
        let draws = &mut self.draws;
        let events = self.detector.sweep(&tallies, || draws.unit(), self.now);
        self.record(events);
    }

    fn request(&mut self, key: usize) {
        let state = self.detector.state(&key);
        if !self.servers[key].is_member || state == Some(EjectionState::Ejected) {
            return;
        }
        let on_trial = state == Some(EjectionState::OnTrial);
        let fails = self
            .draws
            .chance(if self.servers[key].fails { 80 } else { 2 });
        let server = &mut self.servers[key];
        if !fails {
            server.in_a_row = 0;
            server.tally.0 += 1;
            server.trial_successes += 1;
            if state.is_some() {
                server.successes += 1;
                self.detector.succeeded(&key, 1);
            }
            if on_trial && server.trial_successes >= self.config.trial_successes() {
                let decision = self.detector.proven(&key);
                self.decided(key, decision);
            }
            return;
        }
        server.in_a_row += 1;
        server.tally.1 += 1;
        let cause = match on_trial {
            true => EjectionCause::TrialFailed,
            false if server.in_a_row < self.config.consecutive_failures() => return,
            false => EjectionCause::ConsecutiveFailures,
        };
        let suspicion = Suspicion {
            cause,
            healthy: true,
            unreachable: key.is_multiple_of(2),
        };
        let jitter = self.draws.unit();
        let decision = self.detector.failing(&key, suspicion, jitter, self.now);
        self.decided(key, decision);
    }

    fn decided(&mut self, key: usize, decision: Option<OutlierDecision>) {
        self.record(decision.map(|decision| OutlierEvent::new(key, decision)));
    }

    /// Judges each decision by what the fleet did.
    fn record(&mut self, events: impl IntoIterator<Item = OutlierEvent<usize>>) {
        for event in events {
            let told = format!("seed {}, {event:?}", self.seed);
            let server = &mut self.servers[event.key];
            match event.decision {
                OutlierDecision::Ejected { length, times, .. } => {
                    assert_eq!(times, server.times + 1, "{told}");
                    let base = self.config.base_ejection_time() * times;
                    let most = self.config.max_ejection_time();
                    assert!(length >= base.min(most).mul_f64(0.9), "{told}");
                    assert!(length <= base.mul_f64(1.1).min(most), "{told}");
                    *server = Server {
                        fails: server.fails,
                        is_member: server.is_member,
                        times,
                        ..Server::default()
                    };
                }
                OutlierDecision::Forgiven { times } => {
                    assert_eq!(times + 1, server.times, "{told}");
                    assert!(server.successes >= 5, "{told}: it did not prove itself");
                    (server.times, server.successes) = (times, 0);
                }
                OutlierDecision::Returned { why, .. } => {
                    server.trial_successes = 0;
                    if why == ReturnCause::Forgotten {
                        server.times = 0;
                    }
                }
                OutlierDecision::Refused { .. } => server.trial_successes = 0,
                OutlierDecision::TrialOver { .. } => {}
            }
            if self.detector.state(&event.key).is_none() {
                server.times = 0;
            }
            self.log.push((self.now - self.start, event));
        }
    }

    fn check(&mut self) {
        let members = self.servers.iter().filter(|server| server.is_member);
        let (total, ejected) = (members.count(), self.detector.ejected());
        let allowed = self.config.allowed(total);
        let seed = self.seed;
        assert!(ejected <= allowed, "seed {seed}: {ejected} of {total}");
        assert!(ejected < total.max(1), "seed {seed}: nobody is left");
        for (key, server) in self.servers.iter_mut().enumerate() {
            // Those that were back when they left are forgotten without a word.
            if self.detector.state(&key).is_none() {
                server.times = 0;
            }
        }
    }
}

#[test]
fn a_seed_decides_everything_and_every_decision_is_allowed() {
    let mut causes = BTreeMap::new();
    let (mut proven, mut forgiven, mut by_probe) = (0, 0, 0);
    let mut before = None;
    for seed in 0..24 {
        let log = Simulation::new(seed).run();
        assert_eq!(log, Simulation::new(seed).run(), "seed {seed}");
        assert_ne!(before.as_ref(), Some(&log), "seed {seed}");
        for (_, event) in &log {
            match event.decision {
                OutlierDecision::Ejected { cause, .. } => *causes.entry(cause).or_insert(0) += 1,
                OutlierDecision::TrialOver { proven: true } => proven += 1,
                OutlierDecision::Forgiven { .. } => forgiven += 1,
                OutlierDecision::Returned {
                    why: ReturnCause::ProbePassed,
                    ..
                } => by_probe += 1,
                _ => {}
            }
        }
        before = Some(log).filter(|log| !log.is_empty());
    }
    // What never happened was not tested.
    assert!(causes.len() >= 4, "{causes:?}");
    assert!(
        proven > 10 && forgiven > 10 && by_probe > 10,
        "{proven} {forgiven} {by_probe}"
    );
}

//! Requests that are sent at a fixed rate, whatever becomes of those before.

use std::{collections::HashMap, fmt, time::Duration};

use ringfence::Balancer;
use ringfence_tests::client::{Echo, call, echo};
use tokio::{
    sync::oneshot,
    task::{JoinHandle, JoinSet},
    time::{Instant, interval, timeout},
};

use super::{epoch, usable_in};

const PER_SECOND: u32 = 200;
/// Each key is asked for once a second.
const KEYS: usize = 200;
/// What takes longer counts as failed: a caller who waits for ever is no success. A busy machine makes all wait.
const PATIENCE: Duration = Duration::from_secs(20);

/// Requests on their way, by one client of each balancer in turn.
#[derive(Debug)]
pub(super) struct Traffic {
    stop: oneshot::Sender<()>,
    requests: JoinHandle<Vec<Request>>,
    start: Instant,
}

#[derive(Debug)]
struct Request {
    key: usize,
    sent: Duration,
    took: Duration,
    /// Ring and usable instances, if the client's view was the same all the time.
    view: Option<String>,
    /// Which instance answered.
    answer: Result<String, String>,
}

impl Traffic {
    pub(super) fn start(balancers: &[Balancer]) -> Self {
        let clients: Vec<_> = balancers
            .iter()
            .map(|balancer| (balancer.clone(), echo(balancer)))
            .collect();
        let (stop, mut stopped) = oneshot::channel();
        let start = Instant::now();
        let requests = tokio::spawn(async move {
            let (mut running, mut done) = (JoinSet::new(), Vec::new());
            // A tick that is late is followed by the next all the sooner.
            let mut ticks = interval(Duration::from_secs(1) / PER_SECOND);
            for number in 0.. {
                tokio::select! {
                    biased;
                    _ = &mut stopped => break,
                    _ = ticks.tick() => {}
                }
                // Not in step with the keys, or a key would always be asked for by the same client.
                let client = (number / KEYS + number) % clients.len();
                let (balancer, echo) = clients[client].clone();
                running.spawn(Request::send(balancer, echo, number % KEYS, start));
                while let Some(request) = running.try_join_next() {
                    done.push(request.expect("no panic"));
                }
            }
            done.extend(running.join_all().await);
            done
        });
        Self {
            stop,
            requests,
            start,
        }
    }

    /// Sends no more, waits for those on their way, and judges them all.
    pub(super) async fn end(self) -> Tally {
        let time = self.start.elapsed();
        self.stop.send(()).expect("it runs until now");
        let requests = self.requests.await.expect("no panic");
        Tally { requests, time }
    }
}

impl Request {
    async fn send(balancer: Balancer, echo: Echo, key: usize, start: Instant) -> Self {
        let before = balancer.view().map(|view| {
            let ring = view.whole_ring().fingerprint();
            (view.epoch(), format!("{ring:?} {:?}", usable_in(&view)))
        });
        let began = Instant::now();
        let answer = timeout(PATIENCE, call(&echo, &format!("key-{key}"))).await;
        let answer = answer.unwrap_or_else(|_| Err(tonic::Status::cancelled("no answer in time")));
        Self {
            key,
            sent: began - start,
            took: began.elapsed(),
            view: before.and_then(|(before, view)| (before == epoch(&balancer)).then_some(view)),
            answer: answer.map_err(|status| status.to_string()),
        }
    }
}

/// What became of the requests.
pub(super) struct Tally {
    requests: Vec<Request>,
    time: Duration,
}

impl Tally {
    /// Each request was answered, they were sent all along, and equal views sent equal keys to the same instance, whichever
    /// client had them.
    pub(super) fn assert_flawless(&self) {
        let failed: Vec<_> = self.requests.iter().filter(|r| r.answer.is_err()).collect();
        let first = &failed[..failed.len().min(10)];
        assert!(
            failed.is_empty(),
            "{} of {self}; the first: {first:#?}",
            failed.len()
        );

        let due = self.time.as_secs_f64() * f64::from(PER_SECOND);
        let sent = self.requests.len() as f64;
        assert!((0.95..1.05).contains(&(sent / due)), "{self}");
        assert!(self.longest_pause() < Duration::from_secs(2), "{self}");

        let (mut homes, mut again) = (HashMap::new(), 0);
        for request in &self.requests {
            let (Some(view), Ok(answer)) = (&request.view, &request.answer) else {
                continue;
            };
            match homes.insert((view, request.key), answer) {
                Some(home) if home == answer => again += 1,
                Some(home) => panic!("with the same view it was `{home}`: {request:?}"),
                None => {}
            }
        }
        // Unless many keys were asked for again in one view, the above says nothing.
        assert!(again * 8 > self.requests.len(), "only {again} of {self}");
    }

    fn longest_pause(&self) -> Duration {
        let mut sent: Vec<_> = self.requests.iter().map(|request| request.sent).collect();
        sent.sort_unstable();
        let pauses = sent.windows(2).map(|pair| pair[1] - pair[0]);
        pauses.max().unwrap_or(self.time)
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut took: Vec<_> = self.requests.iter().map(|request| request.took).collect();
        took.sort_unstable();
        let at = |share: usize| took.get(took.len() * share / 1_000);
        write!(
            f,
            "{} requests in {:.1?} (longest pause {:.1?}), which took {:.1?} at the median, {:.1?} at p99.9",
            took.len(),
            self.time,
            self.longest_pause(),
            at(500).unwrap_or(&Duration::ZERO),
            at(999).unwrap_or(&Duration::ZERO),
        )
    }
}

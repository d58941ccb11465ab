//! Calls at a steady rate, whatever becomes of those before.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex},
    time::Duration,
};

use fastrand::Rng;
use ringfence::{Idempotent, RoutingKey};
use ringfence_echo::{EchoClient, EchoRequest};
use tokio::{
    task::JoinSet,
    time::{Instant, MissedTickBehavior, interval},
};
use tonic::{
    Request, Status,
    body::Body,
    client::GrpcService,
    codegen::{Body as HttpBody, Bytes, StdError},
};

/// The keys of all calls.
pub(crate) const KEYS: usize = 200;
/// Each call has this long.
const DEADLINE: Duration = Duration::from_secs(5);
/// Responses of a server stream.
const RESPONSES: u32 = 5;

pub(crate) fn key(number: usize) -> String {
    format!("key-{number}")
}

/// What a call is, and by that what it may suffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// One request and one response, may be sent twice: must not fail.
    Idempotent,
    /// As it is by default: fails where the instance may have got it.
    Once,
    /// Several responses, may be sent twice until they begin: must begin.
    Stream,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fate {
    Well,
    /// The caller got an error in the place of a response.
    Failed,
    /// A stream ended early, after it had begun.
    Cut,
}

#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) at: Instant,
    pub(crate) took: Duration,
    pub(crate) kind: Kind,
    pub(crate) fate: Fate,
    pub(crate) error: Option<String>,
}

/// What became of all calls.
#[derive(Clone, Debug, Default)]
pub(crate) struct Records(Arc<Mutex<Vec<Record>>>);

impl Records {
    fn push(&self, record: Record) {
        self.0.lock().unwrap().push(record);
    }

    pub(crate) fn all(&self) -> Vec<Record> {
        self.0.lock().unwrap().clone()
    }

    pub(crate) fn count(&self, kind: Kind, fate: Fate) -> usize {
        let records = self.0.lock().unwrap();
        let of = |record: &&Record| record.kind == kind && record.fate == fate;
        records.iter().filter(of).count()
    }

    /// The errors of calls of a kind, with how often each came.
    pub(crate) fn errors(&self, kind: Kind) -> BTreeMap<String, usize> {
        let mut errors = BTreeMap::new();
        for record in self.0.lock().unwrap().iter() {
            if let Some(error) = record
                .error
                .clone()
                .filter(|_| record.kind == kind && record.fate == Fate::Failed)
            {
                *errors.entry(error).or_default() += 1;
            }
        }
        errors
    }

    fn quantile(&self, per_mille: usize) -> Duration {
        let mut times: Vec<_> = self
            .0
            .lock()
            .unwrap()
            .iter()
            .map(|record| record.took)
            .collect();
        times.sort_unstable();
        let place = times.len() * per_mille / 1_000;
        times
            .get(place.min(times.len().saturating_sub(1)))
            .copied()
            .unwrap_or_default()
    }
}

impl fmt::Display for Records {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for kind in [Kind::Idempotent, Kind::Once, Kind::Stream] {
            let [well, failed, cut] =
                [Fate::Well, Fate::Failed, Fate::Cut].map(|fate| self.count(kind, fate));
            if well + failed + cut > 0 {
                write!(f, "{kind:?}: {well} well, {failed} failed, {cut} cut; ")?;
            }
        }
        let millis = |per_mille| self.quantile(per_mille).as_secs_f64() * 1_000.0;
        write!(
            f,
            "p50 {:.1} ms, p99 {:.1} ms, p99.9 {:.1} ms",
            millis(500),
            millis(990),
            millis(999)
        )
    }
}

/// How many calls of each kind, in relation to each other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mix {
    pub(crate) idempotent: u32,
    pub(crate) once: u32,
    pub(crate) stream: u32,
}

impl Mix {
    fn draw(self, rng: &mut Rng) -> Kind {
        match rng.u32(..self.idempotent + self.once + self.stream) {
            n if n < self.idempotent => Kind::Idempotent,
            n if n < self.idempotent + self.once => Kind::Once,
            _ => Kind::Stream,
        }
    }
}

/// Makes `rate` calls a second until `done`, and waits for the end of each.
pub(crate) async fn run<T>(
    client: EchoClient<T>,
    rate: u32,
    mix: Mix,
    mut rng: Rng,
    records: Records,
    done: impl Future<Output = ()>,
) where
    T: GrpcService<Body, Future: Send> + Clone + Send + 'static,
    T::Error: Into<StdError>,
    T::ResponseBody: HttpBody<Data = Bytes, Error: Into<StdError> + Send> + Send + 'static,
{
    let mut calls = JoinSet::new();
    let mut ticks = interval(Duration::from_secs(1) / rate);
    // A machine that was busy for a moment gets the calls that it missed.
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    let mut done = std::pin::pin!(done);
    loop {
        tokio::select! {
            () = &mut done => break,
            _ = ticks.tick() => {
                let (kind, number) = (mix.draw(&mut rng), rng.usize(..KEYS));
                calls.spawn(record(client.clone(), kind, number, records.clone()));
            }
            Some(ended) = calls.join_next() => ended.unwrap(),
        }
    }
    while let Some(ended) = calls.join_next().await {
        ended.unwrap();
    }
}

async fn record<T>(client: EchoClient<T>, kind: Kind, number: usize, records: Records)
where
    T: GrpcService<Body>,
    T::Error: Into<StdError>,
    T::ResponseBody: HttpBody<Data = Bytes, Error: Into<StdError> + Send> + Send + 'static,
{
    let at = Instant::now();
    let (fate, error) = match kind {
        Kind::Stream => stream(client, number).await,
        Kind::Idempotent | Kind::Once => unary(client, number, kind == Kind::Idempotent).await,
    };
    records.push(Record {
        at,
        took: at.elapsed(),
        kind,
        fate,
        error: error.map(|status| format!("{:?}: {}", status.code(), status.message())),
    });
}

pub(crate) fn request(number: usize, idempotent: bool) -> Request<EchoRequest> {
    let mut request = Request::new(EchoRequest::new(key(number)));
    request.set_timeout(DEADLINE);
    let extensions = request.extensions_mut();
    extensions.insert(RoutingKey::from(key(number)));
    if idempotent {
        extensions.insert(Idempotent(true));
    }
    request
}

async fn unary<T>(
    mut client: EchoClient<T>,
    number: usize,
    idempotent: bool,
) -> (Fate, Option<Status>)
where
    T: GrpcService<Body>,
    T::Error: Into<StdError>,
    T::ResponseBody: HttpBody<Data = Bytes, Error: Into<StdError> + Send> + Send + 'static,
{
    match client.unary(request(number, idempotent)).await {
        Ok(_) => (Fate::Well, None),
        Err(status) => (Fate::Failed, Some(status)),
    }
}

async fn stream<T>(mut client: EchoClient<T>, number: usize) -> (Fate, Option<Status>)
where
    T: GrpcService<Body>,
    T::Error: Into<StdError>,
    T::ResponseBody: HttpBody<Data = Bytes, Error: Into<StdError> + Send> + Send + 'static,
{
    let mut request = request(number, true);
    let message = request.get_mut();
    (message.count, message.delay_ms) = (Some(RESPONSES), Some(10));
    let mut responses = match client.server_stream(request).await {
        Ok(responses) => responses.into_inner(),
        Err(status) => return (Fate::Failed, Some(status)),
    };
    loop {
        match responses.message().await {
            Ok(Some(_)) => {}
            Ok(None) => return (Fate::Well, None),
            Err(status) => return (Fate::Cut, Some(status)),
        }
    }
}

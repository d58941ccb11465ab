//! Calls of many users, one of whom is hot, of clients without a key, and of a tenant who has no instance.

use std::time::Duration;

use ringfence::{Idempotent, RequestTags, Ringfence, TonicConnector};
use ringfence_echo::{EchoClient, EchoRequest};
use tokio::{
    task::JoinSet,
    time::{MissedTickBehavior, interval, timeout},
};
use tonic::Request;

const PAUSE: Duration = Duration::from_millis(10);
const USERS: u64 = 500;
const MOST_IN_FLIGHT: usize = 200;
/// Longer than any call should take.
const LIMIT: Duration = Duration::from_secs(2);

type Client = EchoClient<Ringfence<TonicConnector>>;

pub(crate) async fn run(client: &Client) {
    let mut calls = JoinSet::new();
    let mut ticks = interval(PAUSE);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    for number in 0.. {
        ticks.tick().await;
        while calls.try_join_next().is_some() {}
        if calls.len() < MOST_IN_FLIGHT {
            calls.spawn(call(client.clone(), number));
        }
    }
}

/// Failures are what is to be seen in the metrics.
async fn call(mut client: Client, number: u64) {
    // Spread over all users, and the same in each run.
    let draw = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
    let mut request = Request::new(EchoRequest::new("").with_delay_ms((draw % 20) as u32));
    let user = match draw % 100 {
        0..15 => Some("user-hot".to_owned()),
        15..20 => None,
        _ => Some(format!("user-{}", (draw / 100) % USERS)),
    };
    if let Some(user) = user.and_then(|user| user.parse().ok()) {
        request.metadata_mut().insert("x-user", user);
    }
    if number % 50 == 49 {
        let tags = RequestTags::new().with_tenant("acme");
        request.extensions_mut().insert(tags);
    }
    request
        .extensions_mut()
        .insert(Idempotent(!number.is_multiple_of(10)));
    let _ = timeout(LIMIT, client.unary(request)).await;
}

//! Users who call all the time.

use std::time::Duration;

use ringfence_examples::{Client, request_of};
use tokio::{
    task::JoinSet,
    time::{MissedTickBehavior, interval},
};

/// Users, of whom the first comes most often.
const USERS: u32 = 2_000;
/// Between two calls.
const PAUSE: Duration = Duration::from_millis(5);
/// Calls that may be under way.
const MOST: usize = 128;

/// Calls until it is dropped.
pub(crate) async fn flow(client: &Client) {
    let mut due = interval(PAUSE);
    due.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut running = JoinSet::new();
    for call in 0u32.. {
        due.tick().await;
        while running.try_join_next().is_some() {}
        if running.len() >= MOST {
            running.join_next().await;
        }
        // Every tenth call is of one user; the others come in turn, spread by a step without a common factor.
        let user = if call % 10 == 0 {
            0
        } else {
            call.wrapping_mul(7_919) % USERS
        };
        let Ok(mut request) = request_of(&format!("user-{user}")) else {
            continue;
        };
        request.get_mut().delay_ms = Some(5 + user % 20);
        let client = client.clone();
        // What fails shows on the page.
        running.spawn(async move { client.call(request).await.is_ok() });
    }
}

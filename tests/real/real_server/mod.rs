mod leader;
mod outages;
mod policy;
mod traffic;

use std::{collections::BTreeSet, time::Duration};

use ringfence::{Balancer, View};
use tokio::time::{Instant, sleep};

/// How long after the registry is back, and was told what is so, a view may lag behind it.
const IN_TIME: Duration = Duration::from_secs(5);

/// The ids of the instances that may get requests.
fn usable(balancer: &Balancer) -> BTreeSet<String> {
    balancer
        .view()
        .as_deref()
        .map(usable_in)
        .unwrap_or_default()
}

fn usable_in(view: &View) -> BTreeSet<String> {
    let instances = view.snapshot().instances().iter();
    let usable = instances.filter(|instance| instance.is_usable());
    usable.map(|instance| instance.id().to_string()).collect()
}

fn epoch(balancer: &Balancer) -> u64 {
    balancer.view().map_or(0, |view| view.epoch())
}

/// Waits for something, at most this long, and returns how long it took.
async fn within(limit: Duration, mut holds: impl AsyncFnMut() -> bool) -> Option<Duration> {
    let start = Instant::now();
    loop {
        if holds().await {
            return Some(start.elapsed());
        }
        if start.elapsed() > limit {
            return None;
        }
        sleep(Duration::from_millis(10)).await;
    }
}

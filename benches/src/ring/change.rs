//! A ring made, and changed until readers see it.

use std::{hint::black_box, sync::Arc, time::Duration};

use arc_swap::ArcSwap;
use hashring::HashRing;
use pingora_ketama::Continuum;
use ringfence_core::{Pool, Ring, RingConfig, RoutePlans, View, ViewConfig};

use super::peers;
use crate::{
    data,
    goals::Row,
    harness::{Times, Work, interleaved, timed},
};

pub(crate) fn measure() -> Vec<Row> {
    let mut rows = Vec::new();
    for count in [100, 1_000, 10_000] {
        rows.extend(builds(count));
        rows.extend(updates(count));
    }
    rows
}

fn builds(count: u32) -> Vec<Row> {
    let pool = data::pool(count);
    let config = RingConfig::default();
    let times = interleaved(
        1,
        [
            Box::new(|_| timed(|| drop(black_box(Ring::build(&pool, &config))))) as Work<'_>,
            Box::new(|_| timed(|| drop(black_box(peers::pingora(count))))),
            Box::new(|_| timed(|| drop(black_box(peers::hashring(count))))),
        ],
    );
    let row = Row::noisy(
        format!("full build, N={count}"),
        "time to pingora's",
        times.ratio(0, 1),
    );
    let row = if count == 10_000 {
        row.at_most(1.2, 0.8)
    } else {
        row
    };
    let hashring = Row::noisy(
        format!("full build, N={count}"),
        "time to hashring's",
        times.ratio(0, 2),
    );
    vec![
        row.with_sides(times.sides(0, 1)),
        hashring.with_sides(times.sides(0, 2)),
    ]
}

/// A ring that readers read, and the pools before and after a change.
struct Shared {
    ring: ArcSwap<Ring>,
    before: Arc<Ring>,
    after: Pool,
}

impl Shared {
    fn new(before: &Pool, after: Pool) -> Self {
        let before = Arc::new(Ring::build(before, &RingConfig::default()));
        Self {
            ring: ArcSwap::new(Arc::clone(&before)),
            before,
            after,
        }
    }

    /// From the changed pool until readers get its ring.
    fn change(&self) -> Duration {
        let took = timed(|| self.ring.store(self.before.update(&self.after)));
        self.ring.store(Arc::clone(&self.before));
        took
    }
}

fn updates(count: u32) -> Vec<Row> {
    let few = data::pool(count);
    let many = data::with_one_more(&few);
    let adding = Shared::new(&few, many.clone());
    let removing = Shared::new(&many, few.clone());
    let hashring = peers::hashring(count);
    let views = Views::new(&few, &many);
    let times = interleaved(
        1,
        [
            Box::new(|_| adding.change()) as Work<'_>,
            Box::new(|_| removing.change()),
            Box::new(|_| batch_add(&hashring, count)),
            Box::new(|_| rebuild(count + 1)),
            Box::new(|_| views.change()),
        ],
    );
    let mut rows = Vec::new();
    for (candidate, what) in [(0, "add one"), (1, "remove one")] {
        rows.extend(beside_peers(&times, candidate, what, count));
    }
    let row = Row::noisy(
        format!("add one, the whole view, N={count}"),
        "time to the ring's alone",
        times.ratio(4, 0),
    );
    rows.push(row.with_sides(times.sides(4, 0)));
    rows
}

fn beside_peers(times: &Times, candidate: usize, what: &str, count: u32) -> [Row; 2] {
    let what = format!("{what}, N={count}");
    let hashring = Row::noisy(
        what.clone(),
        "time to hashring's batch_add",
        times.ratio(candidate, 2),
    );
    let pingora = Row::noisy(what, "time to pingora's rebuild", times.ratio(candidate, 3));
    let (hashring, pingora) = match count {
        1_000 => (hashring.at_most(0.25, 0.12), pingora.at_most(0.10, 0.05)),
        10_000 => (hashring.at_most(0.10, 0.04), pingora.at_most(0.05, 0.02)),
        _ => (hashring, pingora),
    };
    [
        hashring.with_sides(times.sides(candidate, 2)),
        pingora.with_sides(times.sides(candidate, 3)),
    ]
}

/// It wants the ring for itself, so nobody reads meanwhile.
fn batch_add(ring: &HashRing<peers::Point>, instance: u32) -> Duration {
    let mut ring = ring.clone();
    let points = peers::points(instance);
    timed(|| ring.batch_add(points))
}

fn rebuild(count: u32) -> Duration {
    let shared = ArcSwap::<Option<Continuum>>::new(Arc::new(None));
    timed(|| shared.store(Arc::new(Some(peers::pingora(count)))))
}

/// From a changed snapshot until readers get the view of it.
struct Views {
    view: ArcSwap<View>,
    before: Arc<View>,
    after: Pool,
}

impl Views {
    fn new(before: &Pool, after: &Pool) -> Self {
        let view = View::first(
            ViewConfig::default(),
            RoutePlans::default(),
            Arc::clone(before.snapshot()),
            |_| None,
        );
        let before = Arc::new(view);
        Self {
            view: ArcSwap::new(Arc::clone(&before)),
            before,
            after: after.clone(),
        }
    }

    fn change(&self) -> Duration {
        let took = timed(|| {
            let snapshot = Arc::clone(self.after.snapshot());
            let next = self
                .before
                .next(RoutePlans::default(), snapshot, [], |_| None);
            self.view.store(Arc::new(next));
        });
        self.view.store(Arc::clone(&self.before));
        took
    }
}

//! Streams that do as they are told, and are counted.

use std::{
    collections::VecDeque,
    sync::atomic::{AtomicUsize, Ordering},
};

use ringfence_discovery::Provenance;
use tokio::time::sleep;

use super::super::*;

pub(super) type Watch = BoxStream<'static, Item>;

/// What a stream does, in order; at its end it hangs.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    Wait(Duration),
    Give(u64),
    Fail,
    Panic,
    End,
}

/// Counts the streams that were opened and those that are open.
#[derive(Clone, Default)]
pub(super) struct Source {
    opened: Arc<AtomicUsize>,
    open: Arc<AtomicUsize>,
    steps: Arc<Mutex<Vec<Step>>>,
}

struct Open(Arc<AtomicUsize>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Source {
    pub(super) fn new(steps: &[Step]) -> Self {
        let source = Self::default();
        source.stand(steps);
        source
    }

    /// What the streams do that are opened from now on.
    pub(super) fn stand(&self, steps: &[Step]) {
        *lock(&self.steps) = steps.to_vec();
    }

    pub(super) fn watch(&self, shared: &Arc<SharedWatches>, service: &str) -> Watch {
        let this = self.clone();
        shared.watch(ServiceKey::new(service), move || {
            this.opened.fetch_add(1, Ordering::SeqCst);
            this.open.fetch_add(1, Ordering::SeqCst);
            let open = Open(this.open.clone());
            let steps = VecDeque::from(lock(&this.steps).clone());
            unfold((steps, open), |(mut steps, open)| async move {
                loop {
                    let item = match steps.pop_front() {
                        None => std::future::pending().await,
                        Some(Step::Wait(time)) => {
                            sleep(time).await;
                            continue;
                        }
                        Some(Step::Give(revision)) => Ok(update(revision)),
                        Some(Step::Fail) => Err(failure()),
                        Some(Step::Panic) => panic!("a fault of the stream"),
                        Some(Step::End) => return None,
                    };
                    return Some((item, (steps, open)));
                }
            })
        })
    }

    pub(super) fn opened(&self) -> usize {
        self.opened.load(Ordering::SeqCst)
    }

    pub(super) fn open(&self) -> usize {
        self.open.load(Ordering::SeqCst)
    }
}

pub(super) fn update(revision: u64) -> Update {
    Update::instances([], Provenance::live(NAME)).with_revision(revision)
}

pub(super) fn failure() -> DiscoveryError {
    let cause = std::io::Error::other("the cable");
    DiscoveryError::new(ErrorKind::Unavailable, NAME, "gone").with_cause(cause)
}

pub(super) fn revision(item: Option<Item>) -> u64 {
    let update = item.expect("not over").expect("an update");
    update.revision.expect("set").get()
}

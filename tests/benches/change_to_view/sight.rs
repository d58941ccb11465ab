//! Who saw which weight when.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use ringfence::Balancer;
use tokio::{sync::mpsc::UnboundedSender, time::Instant};

/// How often a view is looked at; figures are exact to about this.
const LOOK: Duration = Duration::from_micros(100);

#[derive(Clone, Copy, Debug)]
pub(crate) enum Who {
    /// The registry's own client.
    Client,
    /// The view that applies everything at once.
    AtOnce,
    /// The view with the default merge window.
    Merging,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Sighting {
    pub(crate) who: Who,
    pub(crate) weight: u32,
    pub(crate) at: Instant,
}

/// Takes down what one of them sees.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    who: Who,
    sender: UnboundedSender<Sighting>,
}

impl Told {
    pub(crate) fn new(who: Who, sender: &UnboundedSender<Sighting>) -> Self {
        let sender = sender.clone();
        Self { who, sender }
    }

    pub(crate) fn weight(&self, weight: u32) {
        let (who, at) = (self.who, Instant::now());
        // Nobody listens any more once the benchmark is over.
        let _ = self.sender.send(Sighting { who, weight, at });
    }
}

/// Looks at views from a thread of its own, until dropped: one that waits for tokio's timer would see them a millisecond late.
pub(crate) struct Views {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Views {
    pub(crate) fn watch(views: [(Balancer, Told); 2]) -> io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = thread::Builder::new().name("views".to_owned());
        let thread = thread.spawn(move || {
            let mut last = [0; 2];
            while !stopped.load(Ordering::Relaxed) {
                for ((balancer, told), last) in views.iter().zip(&mut last) {
                    let weight = weight(balancer);
                    if weight != *last {
                        told.weight(weight);
                        *last = weight;
                    }
                }
                thread::sleep(LOOK);
            }
        })?;
        let thread = Some(thread);
        Ok(Self { stop, thread })
    }
}

fn weight(balancer: &Balancer) -> u32 {
    let view = balancer.view();
    let instance = view.as_ref().and_then(|view| view.snapshot().get("a"));
    instance.map_or(0, |instance| instance.weight().get())
}

impl Drop for Views {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // It panics nowhere; if it did, that has been printed.
            let _ = thread.join();
        }
    }
}

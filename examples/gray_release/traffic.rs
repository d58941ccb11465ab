//! Calls that run all the time, whatever happens to the policy.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use ringfence_examples::{BoxError, Client, request_of};
use tokio::task::JoinHandle;

use crate::rounds::users;

pub(crate) struct Traffic {
    stop: Arc<AtomicBool>,
    task: JoinHandle<(u64, Vec<String>)>,
}

impl Traffic {
    pub(crate) fn start(client: &Client) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let task = tokio::spawn(run(client.clone(), Arc::clone(&stop)));
        Self { stop, task }
    }

    /// How many calls there were, and what went wrong.
    pub(crate) async fn stop(self) -> Result<(u64, Vec<String>), BoxError> {
        self.stop.store(true, Ordering::Relaxed);
        Ok(self.task.await?)
    }
}

async fn run(client: Client, stop: Arc<AtomicBool>) -> (u64, Vec<String>) {
    let (mut calls, mut errors) = (0, Vec::new());
    for user in users().collect::<Vec<_>>().iter().cycle() {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        calls += 1;
        let outcome = match request_of(user) {
            Ok(request) => client.call(request).await.map_err(BoxError::from),
            Err(error) => Err(error),
        };
        errors.extend(outcome.err().map(|error| format!("{user}: {error}")));
    }
    (calls, errors)
}

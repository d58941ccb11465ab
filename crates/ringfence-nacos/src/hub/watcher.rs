use std::sync::Arc;

use super::{Hub, Reading, Seat, Timing};
use crate::{failure::Failure, naming::Target};

/// One who watches a service. Dropping the last one of a service ends its subscription and its reader.
pub(crate) struct Watcher {
    hub: Arc<Hub>,
    target: Target,
    timing: Timing,
    seat: Seat,
}

impl Watcher {
    /// Begins to watch; nothing that was read before is given.
    ///
    /// # Errors
    /// Without a tokio runtime.
    pub(crate) fn join(hub: Arc<Hub>, target: Target, timing: Timing) -> Result<Self, Failure> {
        let seat = hub.join(&target, timing)?;
        Ok(Self {
            hub,
            target,
            timing,
            seat,
        })
    }

    /// The next reading. Of several since the last call, the newest.
    pub(crate) async fn next(&mut self) -> Reading {
        loop {
            if self.seat.latest.changed().await.is_ok() {
                let latest = self.seat.latest.borrow_and_update().clone();
                if let Some(reading) = latest {
                    return reading;
                }
            } else {
                // The reader went with the runtime of another watcher.
                self.hub.leave(&self.target, self.seat.topic);
                match self.hub.join(&self.target, self.timing) {
                    Ok(seat) => self.seat = seat,
                    Err(failure) => return Err(failure),
                }
            }
        }
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.hub.leave(&self.target, self.seat.topic);
    }
}

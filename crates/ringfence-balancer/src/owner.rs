use std::sync::Arc;

use tokio::sync::watch;
use tokio::task::AbortHandle;

use crate::shared::Shared;

/// Ends the task when the last handle goes. The task has no way back to it.
pub(crate) struct Owner {
    pub(crate) shared: Arc<Shared>,
    pub(crate) task: AbortOnDrop,
    /// Whether the registry has answered; closed when the task is gone.
    pub(crate) answered: watch::Receiver<bool>,
}

impl Owner {
    pub(crate) fn new(
        shared: Arc<Shared>,
        task: AbortHandle,
        answered: watch::Receiver<bool>,
    ) -> Self {
        Self {
            shared,
            task: AbortOnDrop(task),
            answered,
        }
    }
}

pub(crate) struct AbortOnDrop(AbortHandle);

impl AbortOnDrop {
    pub(crate) fn abort(&self) {
        self.0.abort();
    }
}

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.abort();
    }
}

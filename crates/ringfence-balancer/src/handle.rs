//! What the handles of a balancer hold, and what ends with the last of them.

use std::sync::Arc;

use tokio::{sync::watch, task::AbortHandle};

use crate::shared::Shared;

/// Ends the task when the last handle goes. The task has no way back to it.
pub(crate) struct TaskGuard {
    pub(crate) shared: Arc<Shared>,
    task: AbortHandle,
    /// Whether the registry has answered; closed when the task is gone.
    pub(crate) answered: watch::Receiver<bool>,
}

impl TaskGuard {
    pub(crate) fn new(
        shared: Arc<Shared>,
        task: AbortHandle,
        answered: watch::Receiver<bool>,
    ) -> Self {
        Self {
            shared,
            task,
            answered,
        }
    }

    pub(crate) fn is_task_gone(&self) -> bool {
        self.task.is_finished()
    }

    pub(crate) fn abort(&self) {
        self.task.abort();
    }
}

impl Drop for TaskGuard {
    fn drop(&mut self) {
        self.abort();
    }
}

//! What a balancer does before its first view.

use tokio::sync::Notify;

/// What requests get while the registry has not answered yet, and when it is asked.
///
/// Whatever it is: once there is a view, requests never wait for the registry again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StartPolicy {
    /// The registry is watched from the start, and the first callers wait for its answer, at most
    /// [`ready_timeout`](crate::BalancerConfig::ready_timeout).
    #[default]
    Wait,
    /// As [`Wait`](Self::Wait), but the copy on disk, if there is a good one, is used without waiting for the registry first. The
    /// registry's first list takes its place. Needs a [`WatchConfig`](crate::WatchConfig) with disk snapshots.
    UseDiskSnapshot,
    /// Nothing is watched, probed or read before a request asks: [`Balancer::ready`](crate::Balancer::ready), a pick or a call
    /// through the layer. From then on as [`Wait`](Self::Wait); a policy's source is read from then on, too.
    Lazy,
    /// The registry is watched from the start; callers that come before its answer fail at once with
    /// [`PickError::NotReady`](crate::PickError::NotReady). Programs that do not want to start without it use
    /// [`BalancerBuilder::build_ready`](crate::BalancerBuilder::build_ready).
    Fail,
}

impl StartPolicy {
    /// All of them, the default first.
    pub const ALL: [Self; 4] = [Self::Wait, Self::UseDiskSnapshot, Self::Lazy, Self::Fail];

    /// Its word, as in a file of settings.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Wait => "wait",
            Self::UseDiskSnapshot => "use_disk_snapshot",
            Self::Lazy => "lazy",
            Self::Fail => "fail",
        }
    }
}

/// Whether the task may begin.
#[derive(Debug)]
pub(crate) struct Start {
    is_lazy: bool,
    asked: Notify,
}

impl Start {
    pub(crate) fn new(policy: StartPolicy) -> Self {
        Self {
            is_lazy: policy == StartPolicy::Lazy,
            asked: Notify::new(),
        }
    }

    /// A request wants instances. Called only while there are none, so it may cost something.
    pub(crate) fn ask(&self) {
        self.asked.notify_one();
    }

    /// For the task: waits until it has to begin.
    pub(crate) async fn wanted(&self) {
        if self.is_lazy {
            self.asked.notified().await;
        }
    }
}

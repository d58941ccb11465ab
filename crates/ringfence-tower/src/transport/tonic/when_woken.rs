//! A future beside another one, in the same task.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use futures_util::task::AtomicWaker;

/// Polls a future only after it asked for that: what waits for timers beside a connection is not to be polled whenever a frame comes.
pub(super) struct WhenWoken<T> {
    future: Pin<Box<dyn Future<Output = T> + Send>>,
    alarm: Arc<Alarm>,
    waker: Waker,
}

struct Alarm {
    rang: AtomicBool,
    task: AtomicWaker,
}

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.rang.store(true, Ordering::Release);
        self.task.wake();
    }
}

impl<T> WhenWoken<T> {
    pub(super) fn new(future: impl Future<Output = T> + Send + 'static) -> Self {
        let alarm = Arc::new(Alarm {
            rang: AtomicBool::new(true),
            task: AtomicWaker::new(),
        });
        let waker = Waker::from(Arc::clone(&alarm));
        Self {
            future: Box::pin(future),
            alarm,
            waker,
        }
    }

    /// As the future's, which must not be polled once it is done.
    pub(super) fn poll(&mut self, cx: &Context<'_>) -> Poll<T> {
        // Before the look at the alarm: one that rings in between wakes the task again.
        self.alarm.task.register(cx.waker());
        if !self.alarm.rang.swap(false, Ordering::AcqRel) {
            return Poll::Pending;
        }
        self.future
            .as_mut()
            .poll(&mut Context::from_waker(&self.waker))
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::sync::atomic::AtomicUsize;

    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn it_is_polled_once_and_again_when_it_is_woken() {
        let polls = Arc::new(AtomicUsize::new(0));
        let (sender, mut receiver) = oneshot::channel();
        let counted = Arc::clone(&polls);
        let mut inner = WhenWoken::new(poll_fn(move |cx| {
            counted.fetch_add(1, Ordering::Relaxed);
            Pin::new(&mut receiver).poll(cx)
        }));
        let cx = Context::from_waker(Waker::noop());
        for _ in 0..3 {
            assert!(inner.poll(&cx).is_pending());
        }
        assert_eq!(polls.load(Ordering::Relaxed), 1);

        let task = tokio::spawn(async move { poll_fn(|cx| inner.poll(cx)).await });
        tokio::task::yield_now().await;
        assert_eq!(polls.load(Ordering::Relaxed), 1);
        sender.send(7).expect("it is waited for");
        assert_eq!(task.await.expect("it ends"), Ok(7), "the task is woken too");
        assert_eq!(polls.load(Ordering::Relaxed), 2);
    }
}

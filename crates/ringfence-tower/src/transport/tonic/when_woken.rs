//! A future beside another one, in the same task.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

/// Polls a future only after it asked for that: what waits for timers beside a connection is not to be polled whenever a frame comes.
pub(super) struct WhenWoken<T> {
    future: Pin<Box<dyn Future<Output = T> + Send>>,
    alarm: Arc<Alarm>,
    waker: Waker,
    /// The task that the alarm wakes.
    known: Option<Waker>,
}

struct Alarm {
    rang: AtomicBool,
    // Locked when the task changes, and when it rings. It keeps the task, so that the same one need not tell itself each time.
    task: Mutex<Option<Waker>>,
}

impl Alarm {
    fn set(&self, task: Waker) {
        let mut current = self.task.lock().unwrap_or_else(PoisonError::into_inner);
        let former = current.replace(task);
        drop(current);
        drop(former);
    }
}

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.rang.store(true, Ordering::Release);
        let task = self.task.lock();
        let task = task.unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(task) = task {
            task.wake();
        }
    }
}

impl<T> WhenWoken<T> {
    pub(super) fn new(future: impl Future<Output = T> + Send + 'static) -> Self {
        let alarm = Arc::new(Alarm {
            rang: AtomicBool::new(true),
            task: Mutex::new(None),
        });
        let waker = Waker::from(Arc::clone(&alarm));
        Self {
            future: Box::pin(future),
            alarm,
            waker,
            known: None,
        }
    }

    /// As the future's, which must not be polled once it is done.
    #[inline]
    pub(super) fn poll(&mut self, cx: &Context<'_>) -> Poll<T> {
        // Before the look at the alarm: one that rings in between wakes the task again.
        let task = cx.waker();
        let known = self.known.as_ref();
        if !known.is_some_and(|known| known.will_wake(task)) {
            self.know(task);
        }
        if self.alarm.rang.load(Ordering::Acquire) {
            self.poll_future()
        } else {
            Poll::Pending
        }
    }

    #[cold]
    fn know(&mut self, task: &Waker) {
        self.alarm.set(task.clone());
        self.known = Some(task.clone());
    }

    #[cold]
    fn poll_future(&mut self) -> Poll<T> {
        // Before the future is polled, which may ring it again.
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

    #[tokio::test]
    async fn each_alarm_wakes_the_task_that_polled_last() {
        let (sender, mut receiver) = tokio::sync::mpsc::channel::<u32>(8);
        let polls = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&polls);
        let mut inner = WhenWoken::new(poll_fn(move |cx| {
            counted.fetch_add(1, Ordering::Relaxed);
            loop {
                match receiver.poll_recv(cx) {
                    Poll::Ready(Some(0) | None) => return Poll::Ready(()),
                    Poll::Ready(Some(_)) => {}
                    Poll::Pending => return Poll::Pending,
                }
            }
        }));
        // Another task polled before: it is not the one to be woken.
        assert!(inner.poll(&Context::from_waker(Waker::noop())).is_pending());
        let task = tokio::spawn(async move { poll_fn(|cx| inner.poll(cx)).await });
        for n in 1..=3 {
            tokio::task::yield_now().await;
            assert_eq!(polls.load(Ordering::Relaxed), n);
            sender.send(1).await.expect("it is waited for");
        }
        sender.send(0).await.expect("it is waited for");
        task.await.expect("it ends");
    }
}

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll, ready},
};

use futures_core::Stream;

/// A boxed future, as [`Discovery::fetch`](crate::Discovery::fetch) returns it.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A boxed stream, as [`Discovery::watch`](crate::Discovery::watch) returns it.
pub type BoxStream<'a, T> = Pin<Box<dyn Stream<Item = T> + Send + 'a>>;

/// Makes a stream from a state and an async step: the step takes the state and gives an item and the next state, or `None`
/// to end. Nothing runs before the first poll, and dropping the stream drops the step under way: what
/// [`Discovery::watch`](crate::Discovery::watch) asks for.
///
/// # Examples
/// ```
/// use ringfence_discovery::unfold;
///
/// // 3, 2, 1, end
/// let stream = unfold(3, |n| async move { (n > 0).then(|| (n, n - 1)) });
/// # drop(stream);
/// ```
pub fn unfold<S, T, F, Fut>(state: S, step: F) -> BoxStream<'static, T>
where
    S: Send + 'static,
    F: FnMut(S) -> Fut + Send + 'static,
    Fut: Future<Output = Option<(T, S)>> + Send + 'static,
{
    Box::pin(Unfold {
        state: Some(state),
        under_way: None,
        step,
    })
}

struct Unfold<S, F, Fut> {
    state: Option<S>,
    under_way: Option<Pin<Box<Fut>>>,
    step: F,
}

// The future is boxed and nothing else is ever pinned.
impl<S, F, Fut> Unpin for Unfold<S, F, Fut> {}

impl<S, T, F, Fut> Stream for Unfold<S, F, Fut>
where
    F: FnMut(S) -> Fut,
    Fut: Future<Output = Option<(T, S)>>,
{
    type Item = T;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        let this = self.get_mut();
        if let Some(state) = this.state.take() {
            this.under_way = Some(Box::pin((this.step)(state)));
        }
        let Some(step) = &mut this.under_way else {
            return Poll::Ready(None);
        };
        let outcome = ready!(step.as_mut().poll(cx));
        this.under_way = None;
        Poll::Ready(outcome.map(|(item, state)| {
            this.state = Some(state);
            item
        }))
    }
}

impl<S, F, Fut> fmt::Debug for Unfold<S, F, Fut> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unfold").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::StreamExt as _;

    use super::*;

    #[tokio::test]
    async fn unfold_ends_and_stays_ended() {
        let mut stream = unfold(2, |n| async move { (n > 0).then(|| (n, n - 1)) });
        assert_eq!(stream.next().await, Some(2));
        assert_eq!(stream.next().await, Some(1));
        assert_eq!(stream.next().await, None);
        assert_eq!(stream.next().await, None);
    }
}

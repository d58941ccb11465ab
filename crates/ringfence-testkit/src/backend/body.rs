use std::{
    collections::VecDeque,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use h2::Reason;
use http_body::{Body, Frame};
use tokio::time::{Sleep, sleep};

use super::{
    answer::Step,
    end::{Connection, End},
    state::InFlight,
};

/// Time for what was sent before to leave the socket: cutting a connection drops what is still buffered.
const FLUSH: Duration = Duration::from_millis(5);

/// A response body that follows the steps of an answer.
#[derive(Debug)]
pub(super) struct ScriptedBody {
    steps: VecDeque<Step>,
    waiting: Option<Pin<Box<Sleep>>>,
    connection: Connection,
    _in_flight: InFlight,
}

impl ScriptedBody {
    pub(super) fn new(steps: Vec<Step>, connection: Connection, in_flight: InFlight) -> Self {
        Self {
            steps: steps.into(),
            waiting: None,
            connection,
            _in_flight: in_flight,
        }
    }

    /// Waits once per step; ready again after the wait, with the step still in front.
    fn wait(&mut self, time: Duration, cx: &mut Context<'_>) -> Poll<()> {
        let waiting = self.waiting.get_or_insert_with(|| Box::pin(sleep(time)));
        ready!(waiting.as_mut().poll(cx));
        self.waiting = None;
        Poll::Ready(())
    }
}

impl Body for ScriptedBody {
    type Data = Bytes;
    type Error = h2::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, h2::Error>>> {
        loop {
            let Some(step) = self.steps.front() else {
                return Poll::Ready(None);
            };
            let wait = match step {
                Step::Chunk(_) | Step::Trailers(_) => None,
                Step::Pause(time) => Some(*time),
                Step::Hang => return Poll::Pending,
                Step::Reset | Step::Close | Step::ResetStream(_) => Some(FLUSH),
            };
            if let Some(time) = wait {
                ready!(self.wait(time, cx));
            }
            let end = match self.steps.pop_front() {
                Some(Step::Chunk(bytes)) => return Poll::Ready(Some(Ok(Frame::data(bytes)))),
                Some(Step::Trailers(map)) => return Poll::Ready(Some(Ok(Frame::trailers(map)))),
                Some(Step::ResetStream(code)) => {
                    return Poll::Ready(Some(Err(Reason::from(code).into())));
                }
                Some(Step::Reset) => End::Reset,
                Some(Step::Close) => End::Close,
                Some(Step::Pause(_) | Step::Hang) | None => continue,
            };
            self.connection.end(end);
            // A body without further steps would end in order before the connection is cut.
            self.steps = VecDeque::from([Step::Hang]);
        }
    }

    fn is_end_stream(&self) -> bool {
        self.steps.is_empty()
    }
}

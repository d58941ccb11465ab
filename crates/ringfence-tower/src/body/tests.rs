use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use http::{HeaderMap, HeaderValue};
use http_body::{Body as _, Frame, SizeHint};
use http_body_util::combinators::{BoxBody, UnsyncBoxBody};
use http_body_util::{BodyExt as _, Empty, Full, StreamBody};

use super::{Body, Replay, RequestBody};

/// What a scripted body does when it is polled.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    Data(&'static str),
    Trailers,
    Pending,
    Fail,
    /// Its end, which it does not tell before it is asked for more.
    End,
}

struct Scripted {
    steps: VecDeque<Step>,
    known_size: Option<u64>,
}

impl http_body::Body for Scripted {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        Poll::Ready(match self.steps.pop_front() {
            Some(Step::Data(data)) => {
                if let Some(size) = &mut self.known_size {
                    *size -= data.len() as u64;
                }
                Some(Ok(Frame::data(Bytes::from_static(data.as_bytes()))))
            }
            Some(Step::Trailers) => Some(Ok(Frame::trailers(trailers()))),
            Some(Step::Pending) => {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            Some(Step::Fail) => Some(Err(io::Error::other("source broke"))),
            Some(Step::End) | None => None,
        })
    }

    fn is_end_stream(&self) -> bool {
        self.steps.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        self.known_size
            .map_or_else(SizeHint::new, SizeHint::with_exact)
    }
}

fn trailers() -> HeaderMap {
    let mut trailers = HeaderMap::new();
    trailers.insert("x-sum", HeaderValue::from_static("42"));
    trailers
}

fn body(steps: impl IntoIterator<Item = Step>) -> Body {
    Body::new(Scripted {
        steps: steps.into_iter().collect(),
        known_size: None,
    })
}

fn sized(steps: impl IntoIterator<Item = Step>, size: u64) -> Body {
    Body::new(Scripted {
        steps: steps.into_iter().collect(),
        known_size: Some(size),
    })
}

fn replayable(body: Body, limit: usize) -> (Body, Replay<Body>) {
    let (first, replay) = body.replayable(limit);
    (first, replay.expect("can be replayed"))
}

async fn collect(body: Body) -> (Bytes, Option<HeaderMap>) {
    let collected = body.collect().await.expect("complete");
    let trailers = collected.trailers().cloned();
    (collected.to_bytes(), trailers)
}

async fn data(body: &mut Body) -> Bytes {
    let frame = body.frame().await.expect("a frame").expect("no error");
    frame.into_data().expect("data")
}

fn poll_once(body: &mut Body) -> Poll<bool> {
    let mut cx = Context::from_waker(Waker::noop());
    Pin::new(body)
        .poll_frame(&mut cx)
        .map(|frame| frame.is_some())
}

#[tokio::test]
async fn every_attempt_sends_the_same_bytes_and_trailers() {
    let steps = [Step::Data("01234"), Step::Data("56789"), Step::Trailers];
    let (first, mut replay) = replayable(body(steps), 1_024);
    assert_eq!(
        collect(first).await,
        (Bytes::from("0123456789"), Some(trailers()))
    );
    for _ in 0..2 {
        let again = replay.again().expect("kept");
        assert_eq!(
            collect(again).await,
            (Bytes::from("0123456789"), Some(trailers()))
        );
    }
}

#[tokio::test]
async fn an_attempt_that_read_nothing_leaves_all() {
    let (first, mut replay) = replayable(body([Step::Data("0123456789")]), 1_024);
    drop(first);
    let again = replay.again().expect("kept");
    assert_eq!(collect(again).await.0, "0123456789");
}

#[tokio::test]
async fn half_read_then_repeated_and_continued() {
    let steps = [
        Step::Data("ab"),
        Step::Data("cd"),
        Step::Data("ef"),
        Step::Trailers,
    ];
    let (mut first, mut replay) = replayable(body(steps), 1_024);
    assert_eq!(data(&mut first).await, "ab");
    let again = replay.again().expect("kept");
    assert_eq!(
        collect(again).await,
        (Bytes::from("abcdef"), Some(trailers()))
    );
}

#[tokio::test]
async fn a_pending_second_frame_neither_loses_nor_doubles_the_first() {
    // One when it is read ahead, one when it is sent.
    let pending = [Step::Pending, Step::Pending];
    let steps = [Step::Data("ab")].into_iter().chain(pending);
    let steps = steps.chain([Step::Data("cd")]);
    let (mut first, mut replay) = replayable(body(steps), 1_024);
    assert_eq!(data(&mut first).await, "ab");
    assert!(poll_once(&mut first).is_pending());
    let mut again = replay.again().expect("kept");
    assert_eq!(data(&mut again).await, "ab");
    assert_eq!(collect(again).await.0, "cd");
}

#[tokio::test]
async fn over_the_limit_the_first_attempt_is_complete_and_the_last() {
    let steps = [Step::Data("0123"), Step::Data("4567"), Step::Data("89")];
    let (first, mut replay) = replayable(body(steps), 128);
    assert_eq!(collect(first).await.0, "0123456789");
    assert!(replay.again().is_none());
}

#[tokio::test]
async fn exactly_the_limit_is_kept() {
    const CHUNK: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    let chunks = || body([Step::Data(CHUNK), Step::Data(CHUNK)]);
    let (first, mut replay) = replayable(chunks(), 128);
    let whole = collect(first).await;
    assert_eq!(whole.0.len(), 128);
    assert_eq!(collect(replay.again().expect("kept")).await, whole);
    let (first, mut replay) = replayable(chunks(), 127);
    assert_eq!(collect(first).await, whole);
    assert!(replay.again().is_none());
}

#[tokio::test]
async fn tiny_frames_count_for_what_they_cost() {
    let tiny = |count| body(std::iter::repeat_with(|| Step::Data("x")).take(count));
    let (first, mut replay) = replayable(tiny(16), 1_024);
    assert_eq!(collect(first).await.0.len(), 16);
    assert!(replay.again().is_some());
    let (first, mut replay) = replayable(tiny(17), 1_024);
    assert_eq!(collect(first).await.0.len(), 17);
    assert!(replay.again().is_none());
}

#[tokio::test]
async fn empty_frames_are_passed_on_and_not_kept() {
    let empty = || std::iter::repeat_with(|| Step::Data("")).take(1_000);
    let steps = empty().chain([Step::Data("ab")]).chain(empty());
    let (mut first, mut replay) = replayable(body(steps), 64);
    for _ in 0..1_000 {
        assert_eq!(data(&mut first).await, "");
    }
    assert_eq!(collect(first).await.0, "ab");
    let mut again = replay.again().expect("kept");
    assert_eq!(data(&mut again).await, "ab");
    assert_eq!(collect(again).await.0, "");
}

#[test]
fn what_is_known_to_be_over_the_limit_is_not_kept_at_all() {
    assert!(
        sized([Step::Data("0123456789")], 10)
            .replayable(9)
            .1
            .is_none()
    );
    assert!(Body::from("0123456789").replayable(9).1.is_none());
    assert!(Full::<Bytes>::from("0123456789").replayable(9).1.is_none());
    assert!(String::from("0123456789").replayable(9).1.is_none());
    assert!(Body::from("0123456789").replayable(10).1.is_some());
}

#[tokio::test]
async fn a_lying_size_changes_nothing() {
    let (first, mut replay) = replayable(sized([Step::Data("0123456789")], 10), 64);
    assert_eq!(first.size_hint().exact(), Some(10));
    assert_eq!(collect(first).await.0, "0123456789");
    let again = replay.again().expect("kept");
    assert_eq!(again.size_hint().exact(), Some(10));
    assert!(!again.is_end_stream());
    // Says nothing of its length, and is longer than the limit.
    let (first, mut replay) = replayable(body([Step::Data("0123456789")]), 63);
    assert_eq!(first.size_hint().exact(), None);
    assert_eq!(collect(first).await.0, "0123456789");
    assert!(replay.again().is_none());
}

#[tokio::test]
async fn sizes_and_ends_stay_right_on_the_way() {
    let (mut first, mut replay) = replayable(sized([Step::Data("ab"), Step::Data("cd")], 4), 1_024);
    data(&mut first).await;
    assert_eq!(first.size_hint().exact(), Some(2));
    let mut again = replay.again().expect("kept");
    assert_eq!(again.size_hint().exact(), Some(4));
    data(&mut again).await;
    data(&mut again).await;
    assert_eq!(again.size_hint().exact(), Some(0));
    assert!(again.is_end_stream());
    assert!(
        !first.is_end_stream(),
        "an outdated body never looks complete"
    );
}

#[tokio::test]
async fn an_outdated_attempt_never_ends_cleanly() {
    let (mut first, mut replay) = replayable(body([Step::Data("ab"), Step::Data("cd")]), 1_024);
    data(&mut first).await;
    let _again = replay.again().expect("kept");
    let frame = first.frame().await.expect("not an end");
    assert_eq!(
        frame.expect_err("an error").to_string(),
        "the request went on to another instance"
    );

    // An error of a foreign type cannot be made: such a body waits for ever.
    let steps = [Step::Data("ab"), Step::Data("cd")].into();
    let foreign = UnsyncBoxBody::new(Scripted {
        steps,
        known_size: None,
    });
    let (mut first, replay) = foreign.replayable(1_024);
    let _again = replay.expect("can be replayed").again().expect("kept");
    let mut cx = Context::from_waker(Waker::noop());
    assert!(Pin::new(&mut first).poll_frame(&mut cx).is_pending());
}

#[tokio::test]
async fn an_outdated_attempt_that_waits_is_woken() {
    let (sender, receiver) = tokio::sync::oneshot::channel::<()>();
    let waiting = stream::once(async move {
        let _ = receiver.await;
        Ok::<_, io::Error>(Frame::data(Bytes::from("late")))
    });
    let source = Body::new(StreamBody::new(Box::pin(waiting)));
    let (mut first, mut replay) = replayable(source, 1_024);
    let first =
        tokio::spawn(async move { first.frame().await.is_some_and(|frame| frame.is_err()) });
    tokio::task::yield_now().await;
    let again = replay.again().expect("kept");
    assert!(first.await.expect("no panic"), "ended with an error");
    sender.send(()).expect("still waiting");
    assert_eq!(collect(again).await.0, "late");
}

#[tokio::test]
async fn once_accepted_nothing_is_kept_and_the_rest_flows() {
    let steps = [Step::Data("ab"), Step::Data("cd"), Step::Data("ef")];
    let (mut first, mut replay) = replayable(body(steps), 1_024);
    data(&mut first).await;
    data(&mut first).await;
    let mut again = replay.again().expect("kept");
    assert_eq!(data(&mut again).await, "ab");
    // Accepted in the middle of the repetition: what was not repeated yet must still come.
    drop(replay);
    assert_eq!(collect(again).await.0, "cdef");
}

#[tokio::test]
async fn what_was_kept_is_freed_when_no_attempt_can_follow() {
    let chunk = Arc::new(*b"0123456789");
    let owned = Bytes::from_owner(Owned(Arc::clone(&chunk)));
    let frames = stream::iter([Ok::<_, io::Error>(Frame::data(owned))]).chain(stream::pending());
    let source = Body::new(StreamBody::new(frames));
    let (mut first, replay) = replayable(source, 1_024);
    data(&mut first).await;
    assert_eq!(Arc::strong_count(&chunk), 2, "kept");
    drop(replay);
    assert_eq!(
        Arc::strong_count(&chunk),
        1,
        "freed, though the body goes on"
    );
    assert!(poll_once(&mut first).is_pending());
}

struct Owned(Arc<[u8; 10]>);

impl AsRef<[u8]> for Owned {
    fn as_ref(&self) -> &[u8] {
        &*self.0
    }
}

#[tokio::test]
async fn a_source_that_breaks_is_not_repeated() {
    let (mut first, mut replay) = replayable(body([Step::Data("ab"), Step::Fail]), 1_024);
    data(&mut first).await;
    let frame = first.frame().await.expect("a frame");
    assert_eq!(frame.expect_err("an error").to_string(), "source broke");
    assert!(replay.again().is_none());
}

#[tokio::test]
async fn bodies_of_the_field() {
    let full = Full::<Bytes>::from("x")
        .replayable(8)
        .1
        .and_then(|mut replay| replay.again());
    assert_eq!(
        full.expect("kept")
            .collect()
            .await
            .expect("complete")
            .to_bytes(),
        "x"
    );
    let empty = Empty::<Bytes>::new()
        .replayable(0)
        .1
        .and_then(|mut replay| replay.again());
    assert!(empty.expect("kept").is_end_stream());
    let text = String::from("x")
        .replayable(8)
        .1
        .and_then(|mut replay| replay.again());
    assert_eq!(text.as_deref(), Some("x"));
    let boxed = BoxBody::new(Full::<Bytes>::from("x")).replayable(8).1;
    let again = boxed.expect("can be replayed").again().expect("kept");
    assert_eq!(again.collect().await.expect("complete").to_bytes(), "x");
    let nothing = BoxBody::new(Empty::<Bytes>::new()).replayable(0).1;
    assert!(
        nothing
            .expect("nothing to keep")
            .again()
            .expect("kept")
            .is_end_stream()
    );
}

#[tokio::test]
async fn a_body_that_is_there_at_once_ends_with_its_last_frame() {
    for end in [None, Some(Step::End)] {
        let steps = [Step::Data("message")].into_iter().chain(end);
        let (mut first, mut replay) = replayable(body(steps), 1_024);
        assert!(!first.is_end_stream());
        assert_eq!(data(&mut first).await, "message");
        assert!(first.is_end_stream(), "nothing has to be sent after it");
        assert!(first.frame().await.is_none());
        for _ in 0..2 {
            let again = replay.again().expect("kept");
            assert_eq!(collect(again).await, (Bytes::from("message"), None));
        }
    }
}

#[tokio::test]
async fn trailers_of_a_body_that_is_there_at_once_come_after_its_data() {
    let steps = [Step::Data("message"), Step::Trailers];
    let (mut first, mut replay) = replayable(body(steps), 128);
    assert_eq!(data(&mut first).await, "message");
    assert!(!first.is_end_stream());
    assert_eq!(
        collect(first).await,
        (Bytes::new(), Some(trailers())),
        "they end it"
    );
    let again = replay.again().expect("kept");
    assert_eq!(
        collect(again).await,
        (Bytes::from("message"), Some(trailers()))
    );
}

#[tokio::test]
async fn a_length_is_told_only_where_the_body_told_it() {
    let (first, mut replay) = replayable(body([Step::Data("message"), Step::End]), 1_024);
    let again = replay.again().expect("kept");
    for body in [&first, &again] {
        let hint = body.size_hint();
        assert_eq!((hint.lower(), hint.upper()), (7, None));
    }
    let (mut first, mut replay) = replayable(sized([Step::Data("message")], 7), 1_024);
    let again = replay.again().expect("kept");
    assert_eq!(again.size_hint().exact(), Some(7));
    assert_eq!(first.size_hint().exact(), Some(7));
    data(&mut first).await;
    assert_eq!(first.size_hint().exact(), Some(0));
    // More than is read ahead, or may be kept.
    let three = [Step::Data("ab"), Step::Data("cd"), Step::Data("ef")];
    let (first, _replay) = replayable(sized(three, 6), 1_024);
    assert_eq!(first.size_hint().exact(), Some(6));
    let (first, _replay) = replayable(sized([Step::Data("message")], 7), 63);
    assert_eq!(first.size_hint().exact(), Some(7));
}

#[tokio::test]
async fn a_body_without_anything_ends_with_an_empty_frame() {
    let (mut first, mut replay) = replayable(body([Step::End]), 1_024);
    let mut again = replay.again().expect("kept");
    for body in [&mut first, &mut again] {
        assert!(!body.is_end_stream(), "gRPC: not with the head");
        assert_eq!(data(body).await, "");
        assert!(body.is_end_stream());
    }
}

#[tokio::test]
async fn at_most_two_frames_are_read_before_a_body_is_sent() {
    let made = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&made);
    let frames = stream::iter(["a", "b", "c", "d"]).map(move |text| {
        count.fetch_add(1, Ordering::Relaxed);
        Ok::<_, io::Error>(Frame::data(Bytes::from(text)))
    });
    let (first, _replay) = replayable(Body::new(StreamBody::new(frames)), 1_024);
    assert_eq!(made.load(Ordering::Relaxed), 2);
    assert_eq!(collect(first).await.0, "abcd");

    let count = Arc::clone(&made);
    let frames = stream::iter([[7; 200], [8; 200]]).map(move |bytes| {
        count.fetch_add(1, Ordering::Relaxed);
        Ok::<_, io::Error>(Frame::data(Bytes::from_owner(bytes)))
    });
    let (first, mut replay) = replayable(Body::new(StreamBody::new(frames)), 128);
    assert_eq!(made.load(Ordering::Relaxed), 5, "the first is too long");
    assert_eq!(collect(first).await.0.len(), 400);
    assert!(replay.again().is_none());
}

#[tokio::test]
async fn whoever_sends_a_body_is_woken_for_what_was_not_there_at_once() {
    for early in [None, Some("early ")] {
        let (sender, receiver) = tokio::sync::oneshot::channel::<()>();
        let late = stream::once(async move {
            let _ = receiver.await;
            "late"
        });
        let frames = stream::iter(early).chain(late);
        let frames = frames.map(|text| Ok::<_, io::Error>(Frame::data(Bytes::from(text))));
        let source = Body::new(StreamBody::new(Box::pin(frames)));
        let (first, mut replay) = replayable(source, 1_024);
        let first = tokio::spawn(collect(first));
        tokio::task::yield_now().await;
        sender.send(()).expect("it is waited for");
        let whole = [early.unwrap_or_default(), "late"].concat();
        assert_eq!(first.await.expect("no panic").0, whole);
        assert_eq!(collect(replay.again().expect("kept")).await.0, whole);
    }
}

#[tokio::test]
async fn a_body_that_breaks_at_once_breaks_when_it_is_sent() {
    let (mut first, mut replay) = replayable(body([Step::Fail]), 1_024);
    assert!(!first.is_end_stream());
    let frame = first.frame().await.expect("not an end");
    assert_eq!(frame.expect_err("an error").to_string(), "source broke");
    assert!(replay.again().is_none());
    // Before it is sent, another attempt can have what there is of it.
    let (first, mut replay) = replayable(body([Step::Data("ab"), Step::Fail]), 1_024);
    drop(first);
    let mut again = replay.again().expect("nothing was sent");
    assert_eq!(data(&mut again).await, "ab");
    let frame = again.frame().await.expect("not an end");
    assert_eq!(frame.expect_err("an error").to_string(), "source broke");
}

/// What is left to be read of a body: its frames, with an error for a broken end.
async fn rest(mut body: Body) -> Vec<Result<Frame<Bytes>, ()>> {
    let mut frames = Vec::new();
    while !body.is_end_stream()
        && let Some(frame) = body.frame().await
    {
        let ends = !frame.as_ref().is_ok_and(Frame::is_data);
        frames.push(frame.map_err(drop));
        if ends {
            break;
        }
    }
    frames
}

/// The steps of a body as a text in which empty frames do not show.
fn told(frames: &[Result<Frame<Bytes>, ()>]) -> String {
    let texts = frames.iter().map(|frame| match frame {
        Err(()) => "!",
        Ok(frame) => frame.data_ref().map_or("#", |data| {
            std::str::from_utf8(data).expect("the script's text")
        }),
    });
    texts.collect()
}

#[tokio::test]
async fn each_body_is_sent_as_it_is_wherever_it_stops() {
    let steps = [
        Step::Data("a"),
        Step::Data(""),
        Step::Pending,
        Step::Trailers,
        Step::Fail,
        Step::End,
    ];
    let mut scripts = vec![Vec::new()];
    for length in 0..4 {
        let longer: Vec<_> = scripts
            .iter()
            .filter(|script: &&Vec<Step>| {
                let last = script.last();
                script.len() == length
                    && !matches!(last, Some(Step::Trailers | Step::Fail | Step::End))
            })
            .flat_map(|script| steps.map(|step| [&script[..], &[step]].concat()))
            .collect();
        scripts.extend(longer);
    }
    assert!(scripts.len() > 200);
    for script in scripts {
        let expected: String = script
            .iter()
            .map(|step| match step {
                Step::Data(text) => text,
                Step::Pending | Step::End => "",
                Step::Trailers => "#",
                Step::Fail => "!",
            })
            .collect();
        for limit in [0, 64, 128, 1_024] {
            let (first, replay) = body(script.clone()).replayable(limit);
            let sent = rest(first).await;
            assert_eq!(told(&sent), expected, "{script:?} {limit}");
            if let Some(again) = replay.and_then(|mut replay| replay.again()) {
                assert!(!expected.contains('!'), "{script:?} {limit}");
                assert_eq!(told(&rest(again).await), expected, "{script:?} {limit}");
            }
        }
    }
}

#[cfg(feature = "tonic")]
#[tokio::test]
async fn bodies_of_tonic() {
    let body = tonic::body::Body::new(Full::<Bytes>::from("x"));
    let (first, replay) = body.replayable(8);
    drop(first);
    let again = replay.expect("can be replayed").again().expect("kept");
    assert_eq!(again.collect().await.expect("complete").to_bytes(), "x");
    assert!(tonic::body::Body::empty().replayable(0).1.is_some());
}

/// As a file that was cut short after its length was looked up.
#[tokio::test]
async fn a_body_that_is_shorter_than_it_said_does_not_look_complete() {
    for steps in [vec![Step::Data("01234"), Step::End], vec![Step::End]] {
        let (first, mut replay) = replayable(sized(steps, 10), 1_024);
        assert_eq!(first.size_hint().exact(), Some(10), "what it said");
        let mut again = replay.again().expect("kept");
        assert_eq!(again.size_hint().exact(), Some(10), "what it said");
        while let Some(frame) = again.frame().await {
            frame.expect("data");
        }
        assert!(!again.is_end_stream());
    }
}

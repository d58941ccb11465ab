use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

/// An answer to be given, part by part.
///
/// Names and values of headers are written by tests, so those that HTTP forbids panic.
///
/// ```
/// use std::time::Duration;
/// use ringfence_testkit::Answer;
///
/// let slow = Answer::ok("first").pause(Duration::from_millis(20)).chunk("second").trailer("x-sum", "2");
/// let busy = Answer::status(503).header("retry-after", "1").reading(0);
/// let trailers_only = Answer::grpc_error(14, "not now");
/// # drop((slow, busy, trailers_only));
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) delay: Option<Duration>,
    pub(super) read: usize,
    pub(super) go_away: bool,
    pub(super) steps: Vec<Step>,
}

/// One thing that happens while a response body is sent.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Chunk(Bytes),
    Pause(Duration),
    Trailers(HeaderMap),
    Hang,
    Reset,
    Close,
    ResetStream(u32),
}

impl Answer {
    /// Reads the request body, then answers with status `code` and an empty body.
    ///
    /// # Panics
    /// If `code` is not within 100..=999.
    pub fn status(code: u16) -> Self {
        let status = StatusCode::from_u16(code);
        assert!(status.is_ok(), "{code} is no HTTP status");
        Self {
            status: status.unwrap_or_default(),
            headers: HeaderMap::new(),
            delay: None,
            read: usize::MAX,
            go_away: false,
            steps: Vec::new(),
        }
    }

    /// Reads the request body, then answers 200 with `body`.
    pub fn ok(body: impl Into<Bytes>) -> Self {
        Self::status(200).chunk(body)
    }

    /// A gRPC success that carries one encoded `message`.
    pub fn grpc(message: &[u8]) -> Self {
        Self::grpc_message(message).trailer("grpc-status", "0")
    }

    /// A gRPC error without a body, its status in the headers (trailers-only).
    ///
    /// # Panics
    /// If `message` is no legal header value.
    pub fn grpc_error(code: u16, message: &str) -> Self {
        Self::status(200)
            .header("content-type", "application/grpc")
            .header("grpc-status", &code.to_string())
            .header("grpc-message", message)
    }

    /// A gRPC error that comes in trailers, after one encoded `message`.
    ///
    /// # Panics
    /// If `text` is no legal header value.
    pub fn grpc_error_after(message: &[u8], code: u16, text: &str) -> Self {
        Self::grpc_message(message)
            .trailer("grpc-status", &code.to_string())
            .trailer("grpc-message", text)
    }

    fn grpc_message(message: &[u8]) -> Self {
        let mut frame = BytesMut::with_capacity(message.len() + 5);
        frame.put_u8(0);
        // A test's message is short; one of more than 4 GiB is cut off by gRPC itself.
        frame.put_u32(u32::try_from(message.len()).unwrap_or(u32::MAX));
        frame.put_slice(message);
        Self::status(200)
            .header("content-type", "application/grpc")
            .chunk(frame.freeze())
    }

    /// Adds a header.
    ///
    /// # Panics
    /// If HTTP forbids the name or the value.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        append(&mut self.headers, name, value);
        self
    }

    /// Adds bytes to the body, sent as a frame of their own.
    pub fn chunk(mut self, bytes: impl Into<Bytes>) -> Self {
        self.steps.push(Step::Chunk(bytes.into()));
        self
    }

    /// Waits before what follows in the body.
    pub fn pause(mut self, pause: Duration) -> Self {
        self.steps.push(Step::Pause(pause));
        self
    }

    /// Adds a trailer, which ends the body.
    ///
    /// # Panics
    /// If HTTP forbids the name or the value.
    pub fn trailer(mut self, name: &str, value: &str) -> Self {
        match self.steps.last_mut() {
            Some(Step::Trailers(trailers)) => append(trailers, name, value),
            _ => {
                let mut trailers = HeaderMap::new();
                append(&mut trailers, name, value);
                self.steps.push(Step::Trailers(trailers));
            }
        }
        self
    }

    /// Never ends the body.
    pub fn then_hang(mut self) -> Self {
        self.steps.push(Step::Hang);
        self
    }

    /// Resets the connection (TCP RST) in the middle of the body, what was before having been sent.
    pub fn then_reset(mut self) -> Self {
        self.steps.push(Step::Reset);
        self
    }

    /// Closes the connection (TCP FIN) in the middle of the body, what was before having been sent.
    pub fn then_close(mut self) -> Self {
        self.steps.push(Step::Close);
        self
    }

    /// Resets the HTTP/2 stream with this error code in the middle of the body. On HTTP/1 it closes the connection.
    pub fn then_reset_stream(mut self, code: u32) -> Self {
        self.steps.push(Step::ResetStream(code));
        self
    }

    /// Waits before the response head, after the request body has been read.
    pub fn after(mut self, delay: Duration) -> Self {
        self.delay = Some(delay);
        self
    }

    /// Reads only about this many bytes of the request body before it answers: it stops at the end of the frame that
    /// reaches them. With 0 the body is not read at all.
    pub fn reading(mut self, bytes: usize) -> Self {
        self.read = bytes;
        self
    }

    /// Announces with the answer that the connection takes no more requests: HTTP/2 GOAWAY, HTTP/1 `connection: close`.
    pub fn with_go_away(mut self) -> Self {
        self.go_away = true;
        self
    }

    /// The value of a `trailer` header that announces the trailers.
    pub(super) fn trailer_names(&self) -> Option<HeaderValue> {
        let names: Vec<&str> = self
            .steps
            .iter()
            .filter_map(|step| match step {
                Step::Trailers(trailers) => Some(trailers.keys().map(HeaderName::as_str)),
                _ => None,
            })
            .flatten()
            .collect();
        if names.is_empty() {
            return None;
        }
        HeaderValue::from_str(&names.join(", ")).ok()
    }
}

fn append(map: &mut HeaderMap, name: &str, value: &str) {
    let parsed = (name.parse::<HeaderName>(), value.parse::<HeaderValue>());
    let (Ok(name), Ok(value)) = parsed else {
        #[allow(clippy::panic, reason = "a fault of the test, documented")]
        {
            panic!("'{name}: {value}' is no legal header")
        }
    };
    map.append(name, value);
}

use super::Answer;

/// What a [`Backend`](super::Backend) does with one request.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Behaviour {
    /// Answers.
    Answer(Answer),
    /// Reads the whole request body and never answers.
    Hang,
    /// Reads this many bytes of the request body, then resets the connection (TCP RST). With 0 none is read.
    Reset {
        /// Bytes to read first.
        after: usize,
    },
    /// Reads this many bytes of the request body, then closes the connection (TCP FIN). With 0 none is read.
    Close {
        /// Bytes to read first.
        after: usize,
    },
    /// Resets the HTTP/2 stream with REFUSED_STREAM, which says that the request was not processed. On HTTP/1 it closes
    /// the connection.
    RefuseStream,
    /// Resets the HTTP/2 stream with this error code. On HTTP/1 it closes the connection.
    ResetStream(u32),
}

impl From<Answer> for Behaviour {
    fn from(answer: Answer) -> Self {
        Self::Answer(answer)
    }
}

/// What a [`Backend`](super::Backend) does with one connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnConnect {
    /// Serves requests on it.
    #[default]
    Serve,
    /// Closes it as soon as it is accepted (TCP FIN).
    Close,
    /// Resets it as soon as it is accepted (TCP RST).
    Reset,
    /// Keeps it open and neither reads nor writes, not even a TLS handshake.
    Silent,
    /// Speaks HTTP/2 and answers the first request by a GOAWAY that says that no request was processed, then closes.
    GoAwayUnprocessed,
}

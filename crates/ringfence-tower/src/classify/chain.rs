//! Reads the chain of sources of an error.

use std::error::Error as StdError;
use std::io;

use super::Failure;

pub(super) fn classify(error: &(dyn StdError + 'static)) -> Failure {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(failure) = link(error) {
            return failure;
        }
        next = cause(error);
    }
    Failure::Broken
}

/// The next link: an I/O error hides what it wraps from `source`.
pub(crate) fn cause<'a>(
    error: &'a (dyn StdError + 'static),
) -> Option<&'a (dyn StdError + 'static)> {
    match error.downcast_ref::<io::Error>() {
        Some(io) => io.get_ref().map(|inner| inner as &(dyn StdError + 'static)),
        None => error.source(),
    }
}

/// What one link of the chain says; the outermost that says something decides.
fn link(error: &(dyn StdError + 'static)) -> Option<Failure> {
    if let Some(error) = error.downcast_ref::<io::Error>() {
        return io_link(error);
    }
    #[cfg(feature = "hyper")]
    if let Some(error) = error.downcast_ref::<hyper_util::client::legacy::Error>() {
        return error.is_connect().then_some(Failure::Connect);
    }
    #[cfg(feature = "tonic")]
    if error.is::<tonic::ConnectError>() {
        return Some(Failure::Connect);
    }
    #[cfg(feature = "tonic")]
    if error.is::<tonic::TimeoutExpired>() {
        return Some(Failure::Timeout);
    }
    #[cfg(any(feature = "hyper", feature = "tonic"))]
    if let Some(error) = error.downcast_ref::<hyper::Error>() {
        return hyper_link(error);
    }
    #[cfg(any(feature = "hyper", feature = "tonic"))]
    if let Some(error) = error.downcast_ref::<h2::Error>() {
        return h2_link(error);
    }
    None
}

fn io_link(error: &io::Error) -> Option<Failure> {
    match error.kind() {
        // Comes from connecting only, never from an established connection.
        io::ErrorKind::ConnectionRefused => Some(Failure::Connect),
        io::ErrorKind::TimedOut => Some(Failure::Timeout),
        _ => None,
    }
}

#[cfg(any(feature = "hyper", feature = "tonic"))]
fn hyper_link(error: &hyper::Error) -> Option<Failure> {
    if error.is_canceled() {
        // Dropped from the queue of its connection, before any of it was written.
        return Some(Failure::ConnectionClosed);
    }
    if error.is_timeout() {
        return Some(Failure::Timeout);
    }
    // An error of the caller's body carries a chain of its own, which must not be taken for one of
    // this connection: a proxied body can contain any error there is.
    error.is_user().then_some(Failure::Local)
}

#[cfg(any(feature = "hyper", feature = "tonic"))]
fn h2_link(error: &h2::Error) -> Option<Failure> {
    // h2 gives the peer's GOAWAY only to streams above the last processed one and to streams that
    // were never opened; the streams below it go on.
    if error.is_go_away() && error.is_remote() {
        return Some(match error.reason() {
            Some(h2::Reason::NO_ERROR) => Failure::ConnectionClosed,
            _ => Failure::Unprocessed,
        });
    }
    if error.is_reset() && error.is_remote() && error.reason() == Some(h2::Reason::REFUSED_STREAM) {
        return Some(Failure::Unprocessed);
    }
    // hyper ends the stream by itself when the caller's body fails.
    if error.is_reset() && !error.is_remote() && !error.is_library() {
        return Some(Failure::Local);
    }
    Some(Failure::Broken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refused_connections_are_found_in_the_chain() {
        let refused = io::Error::from(io::ErrorKind::ConnectionRefused);
        assert_eq!(classify(&refused), Failure::Connect);
        let wrapped = io::Error::other(io::Error::from(io::ErrorKind::ConnectionRefused));
        assert_eq!(classify(&wrapped), Failure::Connect);
    }

    #[test]
    fn the_unknown_may_have_been_processed() {
        let reset = io::Error::from(io::ErrorKind::ConnectionReset);
        assert_eq!(classify(&reset), Failure::Broken);
        assert_eq!(classify(&std::fmt::Error), Failure::Broken);
    }

    #[cfg(feature = "tonic")]
    #[test]
    fn tonic_connect_errors() {
        let error = tonic::ConnectError("certificate expired".into());
        assert_eq!(classify(&error), Failure::Connect);
        assert_eq!(classify(&tonic::TimeoutExpired(())), Failure::Timeout);
    }

    #[cfg(any(feature = "hyper", feature = "tonic"))]
    #[test]
    fn local_h2_errors_are_not_refusals() {
        let error = h2::Error::from(h2::Reason::REFUSED_STREAM);
        assert_eq!(classify(&error), Failure::Broken);
    }
}

//! Who reads the output.

/// Ends when nobody reads standard output any more, as after `| head -1`; never where that cannot be known, as of a file.
#[cfg(unix)]
pub(super) async fn gone() {
    use std::io;

    use tokio::io::{Interest, unix::AsyncFd};

    // It is told of room for more too, which is what hang-ups are told with.
    let Ok(out) = AsyncFd::with_interest(io::stdout(), Interest::WRITABLE) else {
        return std::future::pending().await;
    };
    while let Ok(mut guard) = out.ready(Interest::WRITABLE).await {
        if guard.ready().is_write_closed() {
            return;
        }
        guard.clear_ready();
    }
    std::future::pending().await
}

/// Only a write tells it here.
#[cfg(not(unix))]
pub(super) async fn gone() {
    std::future::pending().await
}

//! Who reads the output.

/// Whether nobody reads standard output any more, as after `| head -1`. Where that cannot be known, the next write tells it.
#[cfg(unix)]
pub(super) fn is_gone() -> bool {
    use std::{io, os::fd::AsFd as _};

    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

    let out = io::stdout();
    // Hang-ups and errors are told whatever is asked for; a file or a terminal that is there has none.
    let mut asked = [PollFd::new(out.as_fd(), PollFlags::empty())];
    let told = poll(&mut asked, PollTimeout::ZERO);
    told.is_ok_and(|count| count > 0)
}

/// Whether nobody reads standard output any more: only a write tells it here.
#[cfg(not(unix))]
pub(super) fn is_gone() -> bool {
    false
}

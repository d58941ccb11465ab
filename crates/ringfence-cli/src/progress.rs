//! How far long work is: on standard error, and only where that is a terminal.

use std::{borrow::Cow, time::Duration};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Steps between two looks at the clock.
const STRIDE: u64 = 4_096;

/// A bar that is gone when it is dropped.
pub(crate) struct Progress {
    bar: ProgressBar,
    steps: u64,
}

impl Progress {
    /// Of work in `total` steps, or of unknown length.
    pub(crate) fn new(what: impl Into<Cow<'static, str>>, total: Option<u64>) -> Self {
        let target = ProgressDrawTarget::stderr_with_hz(10);
        let bar = ProgressBar::with_draw_target(total, target).with_message(what);
        let template = match total {
            Some(_) => "{msg} {bar:30} {human_pos} of {human_len}, {eta} left",
            None => "{msg} {spinner} {human_pos} ({per_sec})",
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        if total.is_none() {
            bar.enable_steady_tick(Duration::from_millis(200));
        }
        Self { bar, steps: 0 }
    }

    /// One step is done.
    pub(crate) fn step(&mut self) {
        self.steps += 1;
        if self.steps.is_multiple_of(STRIDE) {
            self.bar.set_position(self.steps);
        }
    }

    /// One step of few is done.
    pub(crate) fn big_step(&self) {
        self.bar.inc(1);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

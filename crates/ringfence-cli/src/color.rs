//! Colours, on a terminal only.

use std::{
    fmt, io,
    sync::atomic::{AtomicBool, Ordering},
};

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};

use crate::args::Colors;

pub(crate) const HEAD: Style = Style::new().bold();
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
pub(crate) const BAD: Style = AnsiColor::Red.on_default();
pub(crate) const ODD: Style = AnsiColor::Yellow.on_default();
pub(crate) const FAINT: Style = Style::new().dimmed();

static ON: AtomicBool = AtomicBool::new(false);

/// Decides it once, for standard output: what is asked for, else by the terminal, `NO_COLOR` and `CLICOLOR_FORCE`.
pub(crate) fn choose(asked: Colors) {
    let on = match asked {
        Colors::Always => true,
        Colors::Never => false,
        Colors::Auto => AutoStream::choice(&io::stdout()) != ColorChoice::Never,
    };
    ON.store(on, Ordering::Relaxed);
}

/// The text in a style, where there are colours.
pub(crate) fn paint(style: Style, text: impl fmt::Display) -> String {
    match ON.load(Ordering::Relaxed) {
        true => format!("{style}{text}{style:#}"),
        false => text.to_string(),
    }
}

use std::process::ExitCode;

use ringfence_examples::{Take, flags, set, set_some};

const USAGE: &str = "usage: admin [--port PORT] [--seconds N]";

const KNOWN: &[(&str, Take<Flags>)] = &[
    ("--port", |flags, value| set(&mut flags.port, value, "port")),
    ("--seconds", |flags, value| {
        set_some(&mut flags.seconds, value, "number of seconds")
    }),
];

#[derive(Default)]
pub(crate) struct Flags {
    /// Of the page; 0 for one that is free.
    pub(crate) port: u16,
    /// After which it ends by itself.
    pub(crate) seconds: Option<u64>,
}

impl Flags {
    pub(crate) fn read() -> Result<Self, ExitCode> {
        flags(USAGE, Self::default(), KNOWN)
    }
}

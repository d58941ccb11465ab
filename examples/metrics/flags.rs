use std::{
    net::{IpAddr, Ipv4Addr},
    process::ExitCode,
};

use ringfence_examples::{Take, flags, set, set_some};

const USAGE: &str = "usage: metrics [--host IP] [--port PORT] [--seconds SECONDS]";

const KNOWN: &[(&str, Take<Flags>)] = &[
    ("--host", |flags, value| {
        set(&mut flags.host, value, "IP address")
    }),
    ("--port", |flags, value| set(&mut flags.port, value, "port")),
    ("--seconds", |flags, value| {
        set_some(&mut flags.seconds, value, "number of seconds")
    }),
];

pub(crate) struct Flags {
    pub(crate) host: IpAddr,
    pub(crate) port: u16,
    /// How long it runs; `None` until Ctrl-C.
    pub(crate) seconds: Option<u64>,
}

impl Default for Flags {
    fn default() -> Self {
        Self {
            host: Ipv4Addr::LOCALHOST.into(),
            // The one that OpenTelemetry's exporters for Prometheus have.
            port: 9464,
            seconds: None,
        }
    }
}

impl Flags {
    pub(crate) fn read() -> Result<Self, ExitCode> {
        flags(USAGE, Self::default(), KNOWN)
    }
}

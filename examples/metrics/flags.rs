use std::net::{IpAddr, Ipv4Addr};

pub(crate) const USAGE: &str = "usage: metrics [--host IP] [--port PORT] [--seconds SECONDS]";

pub(crate) struct Flags {
    pub(crate) host: IpAddr,
    pub(crate) port: u16,
    /// How long it runs; `None` until Ctrl-C.
    pub(crate) seconds: Option<u64>,
}

impl Flags {
    /// `None` stands for a call for help.
    pub(crate) fn parse(mut args: impl Iterator<Item = String>) -> Result<Option<Self>, String> {
        let mut flags = Self {
            host: Ipv4Addr::LOCALHOST.into(),
            // The one that OpenTelemetry's exporters for Prometheus have.
            port: 9464,
            seconds: None,
        };
        while let Some(flag) = args.next() {
            let mut value = || args.next().ok_or_else(|| format!("{flag} needs a value"));
            match flag.as_str() {
                "--host" => {
                    let host = value()?;
                    flags.host = host
                        .parse()
                        .map_err(|_| format!("{host} is no IP address"))?;
                }
                "--port" => {
                    let port = value()?;
                    flags.port = port.parse().map_err(|_| format!("{port} is no port"))?;
                }
                "--seconds" => {
                    let seconds = value()?;
                    let parsed = seconds
                        .parse()
                        .map_err(|_| format!("{seconds} is no number of seconds"))?;
                    flags.seconds = Some(parsed);
                }
                "--help" | "-h" => return Ok(None),
                _ => return Err(format!("{flag} is unknown")),
            }
        }
        Ok(Some(flags))
    }
}

pub(crate) const USAGE: &str = "usage: admin [--port PORT] [--seconds N]";

pub(crate) struct Flags {
    /// Of the page; 0 for one that is free.
    pub(crate) port: u16,
    /// After which it ends by itself.
    pub(crate) seconds: Option<u64>,
}

impl Flags {
    pub(crate) fn parse(mut args: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut flags = Self {
            port: 0,
            seconds: None,
        };
        while let Some(flag) = args.next() {
            let value = args.next().ok_or_else(|| format!("{flag} needs a value"))?;
            match flag.as_str() {
                "--port" => {
                    flags.port = value.parse().map_err(|_| format!("{value} is no port"))?
                }
                "--seconds" => {
                    let seconds = value
                        .parse()
                        .map_err(|_| format!("{value} is no number of seconds"))?;
                    flags.seconds = Some(seconds);
                }
                _ => return Err(format!("{flag} is unknown")),
            }
        }
        Ok(flags)
    }
}

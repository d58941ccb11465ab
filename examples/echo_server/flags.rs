use std::net::{IpAddr, Ipv4Addr};

use ringfence::ServiceKey;

pub(crate) const USAGE: &str = "\
usage: echo_server [--id ID] [--host IP] [--port PORT]
                   [--register consul,nacos,etcd] [--service NAME] [--advertise HOST:PORT] [--version VERSION] [--zone ZONE]";

pub(crate) struct Flags {
    pub(crate) id: String,
    pub(crate) host: IpAddr,
    pub(crate) port: u16,
    pub(crate) registries: Vec<String>,
    pub(crate) service: ServiceKey,
    /// What clients dial, where it is not what the server listens on.
    pub(crate) advertise: Option<String>,
    pub(crate) version: Option<String>,
    pub(crate) zone: Option<String>,
}

impl Flags {
    /// `None` stands for a call for help.
    pub(crate) fn parse(mut args: impl Iterator<Item = String>) -> Result<Option<Self>, String> {
        let mut flags = Self {
            id: "echo-1".to_owned(),
            host: Ipv4Addr::LOCALHOST.into(),
            port: 0,
            registries: Vec::new(),
            service: ServiceKey::new("echo"),
            advertise: None,
            version: None,
            zone: None,
        };
        while let Some(flag) = args.next() {
            let mut value = || args.next().ok_or_else(|| format!("{flag} needs a value"));
            match flag.as_str() {
                "--id" => flags.id = value()?,
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
                "--register" => {
                    flags.registries = value()?.split(',').map(str::to_owned).collect();
                }
                "--service" => flags.service = ServiceKey::new(value()?),
                "--advertise" => flags.advertise = Some(value()?),
                "--version" => flags.version = Some(value()?),
                "--zone" => flags.zone = Some(value()?),
                "--help" | "-h" => return Ok(None),
                _ => return Err(format!("{flag} is unknown")),
            }
        }
        if flags.host.is_unspecified() && flags.advertise.is_none() && !flags.registries.is_empty()
        {
            return Err(format!(
                "nobody can dial {}: --advertise is needed",
                flags.host
            ));
        }
        Ok(Some(flags))
    }
}

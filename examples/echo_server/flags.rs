use std::{
    net::{IpAddr, Ipv4Addr},
    process::ExitCode,
};

use ringfence::ServiceKey;
use ringfence_examples::{Take, flags, set, wrong_usage};

const USAGE: &str = "\
usage: echo_server [--id ID] [--host IP] [--port PORT]
                   [--register consul,nacos,etcd] [--service NAME] [--advertise HOST:PORT] [--version VERSION] [--zone ZONE]";

const KNOWN: &[(&str, Take<Flags>)] = &[
    ("--id", |flags, value| set(&mut flags.id, value, "id")),
    ("--host", |flags, value| {
        set(&mut flags.host, value, "IP address")
    }),
    ("--port", |flags, value| set(&mut flags.port, value, "port")),
    ("--register", |flags, value| {
        flags.registries = value.split(',').map(str::to_owned).collect();
        Ok(())
    }),
    ("--service", |flags, value| {
        flags.service = ServiceKey::new(value);
        Ok(())
    }),
    ("--advertise", |flags, value| {
        given(&mut flags.advertise, value)
    }),
    ("--version", |flags, value| given(&mut flags.version, value)),
    ("--zone", |flags, value| given(&mut flags.zone, value)),
];

fn given(place: &mut Option<String>, value: &str) -> Result<(), String> {
    *place = Some(value.to_owned());
    Ok(())
}

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

impl Default for Flags {
    fn default() -> Self {
        Self {
            id: "echo-1".to_owned(),
            host: Ipv4Addr::LOCALHOST.into(),
            port: 0,
            registries: Vec::new(),
            service: ServiceKey::new("echo"),
            advertise: None,
            version: None,
            zone: None,
        }
    }
}

impl Flags {
    pub(crate) fn read() -> Result<Self, ExitCode> {
        let flags = flags(USAGE, Self::default(), KNOWN)?;
        let host = flags.host;
        if host.is_unspecified() && flags.advertise.is_none() && !flags.registries.is_empty() {
            let fault = format!("nobody can dial {host}: --advertise is needed");
            return Err(wrong_usage(USAGE, &fault));
        }
        Ok(flags)
    }
}

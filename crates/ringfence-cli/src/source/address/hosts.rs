use super::Kind;

/// The hosts of an address, and whether they are asked with TLS.
#[derive(Debug, Default)]
pub(super) struct Hosts {
    /// Host and port each, as they are written.
    pub(super) hosts: Vec<String>,
    pub(super) is_tls: bool,
}

impl Hosts {
    /// Those that the environment has, of which nothing was looked at.
    pub(super) fn of_variable(kind: Kind, given: &str) -> Result<Self, String> {
        // As a whole: a password may have a comma.
        if given.contains('@') {
            let variable = kind.variable();
            return Err(format!(
                "{variable} holds a user or a password, which are given by variables or files of their own (ringfence --help says which)"
            ));
        }
        Self::of(kind, given)
    }

    /// Separated by commas; this machine where there is none.
    pub(super) fn of(kind: Kind, given: &str) -> Result<Self, String> {
        let mut hosts = Self::default();
        for host in given.split(',').map(str::trim).filter(|h| !h.is_empty()) {
            hosts.add(kind, host)?;
        }
        if hosts.hosts.is_empty() {
            hosts.add(kind, "127.0.0.1")?;
        }
        if kind == Kind::Consul && hosts.hosts.len() > 1 {
            return Err("Consul is asked through one address".to_owned());
        }
        Ok(hosts)
    }

    fn add(&mut self, kind: Kind, host: &str) -> Result<(), String> {
        let host = match host.split_once("://") {
            Some(("https", host)) => {
                self.is_tls = true;
                host
            }
            Some(("http", host)) => host,
            Some(_) => return Err("an address begins with http:// or https://".to_owned()),
            None => host,
        };
        let host = host.trim_end_matches('/');
        let is_bare = match host.rsplit_once(':') {
            // An IPv6 address without a port ends with its bracket.
            Some((_, port)) => port.ends_with(']'),
            None => true,
        };
        let port = kind.default_port();
        self.hosts.push(match is_bare {
            true => format!("{host}:{port}"),
            false => host.to_owned(),
        });
        Ok(())
    }
}

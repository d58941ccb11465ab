//! The address of a service in a registry.

mod hosts;
#[cfg(test)]
mod tests;

use std::fmt;

use ringfence_core::did_you_mean;

use self::hosts::Hosts;
use super::{
    environment::variable,
    kind::{Kind, decoded, is_plain, options},
};

/// `KIND[+https]://HOST[:PORT][,HOST...]/[NAMESPACE/][GROUP/]SERVICE[?NAME=VALUE&...]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RegistryAddress {
    pub(crate) kind: Kind,
    pub(crate) is_tls: bool,
    /// Host and port each, as they are written.
    pub(crate) hosts: Vec<String>,
    /// What is before the service's name: a datacenter of Consul, group or namespace and group of Nacos, a namespace of etcd.
    pub(crate) scope: Vec<String>,
    /// Empty where it is not in the address.
    pub(crate) service: String,
    pub(crate) options: Vec<(String, String)>,
}

impl RegistryAddress {
    /// `None` for a text that names no registry.
    pub(crate) fn parse(text: &str) -> Option<Result<Self, String>> {
        let (scheme, rest) = text.split_once("://")?;
        Some(Self::of(scheme, rest, variable))
    }

    fn of(
        scheme: &str,
        rest: &str,
        variable: impl Fn(&str) -> Result<Option<String>, String>,
    ) -> Result<Self, String> {
        let (name, is_tls) = match scheme.strip_suffix("+https") {
            Some(name) => (name, true),
            None => (scheme, false),
        };
        let kind = Kind::ALL.into_iter().find(|kind| kind.as_str() == name);
        let Some(kind) = kind else {
            let known = Kind::ALL.map(Kind::as_str).into_iter().chain(["file"]);
            return Err(match is_plain(name) {
                true => format!("no registry `{name}`{}", did_you_mean(name, known)),
                false => "what stands before :// is no registry".to_owned(),
            });
        };
        // Nothing of the address is repeated before this: it would show what should not be there. A password may have a `?` or `/`,
        // so it is looked for before the text is divided.
        if rest.contains('@') {
            return Err(format!(
                "a {name} address holds no user and password: give them by the environment or by files (ringfence --help says which); \
                 an `@` that belongs to a name or an option is written %40"
            ));
        }
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (hosts, path) = rest.split_once('/').unwrap_or((rest, ""));
        let fault = |fault: String| format!("{scheme}://{rest}: {fault}");
        let mut segments = Vec::new();
        for segment in path.split('/').filter(|segment| !segment.is_empty()) {
            segments.push(decoded(segment).map_err(fault)?);
        }
        let service = segments.pop().unwrap_or_default();
        let most = kind.most_scopes();
        if segments.len() > most {
            return Err(fault(format!(
                "at most {most} names stand before the service; a `/` in a name is written %2F"
            )));
        }
        let options = options(kind, query).map_err(fault)?;
        let hosts = match hosts {
            "" => Hosts::of_variable(kind, &variable(kind.variable())?.unwrap_or_default()),
            hosts => Hosts::of(kind, hosts),
        };
        let hosts = hosts.map_err(fault)?;
        Ok(Self {
            kind,
            is_tls: is_tls || hosts.is_tls,
            hosts: hosts.hosts,
            scope: segments,
            service,
            options,
        })
    }

    /// With the service of `--service`, where the address names none.
    pub(crate) fn with_service(mut self, service: Option<&str>) -> Result<Self, String> {
        match (self.service.is_empty(), service) {
            (true, Some(service)) => self.service = service.to_owned(),
            (true, None) => {
                return Err(format!(
                    "{self}: which service? write {self}NAME, or --service NAME"
                ));
            }
            (false, Some(other)) if *other != self.service => {
                return Err(format!("{self} and --service {other} are two services"));
            }
            (false, _) => {}
        }
        Ok(self)
    }

    /// The values of an option, in the order in which they are given.
    #[cfg(any(test, feature = "consul", feature = "nacos", feature = "etcd"))]
    pub(crate) fn option<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let options = self.options.iter().filter(move |(given, _)| given == name);
        options.map(|(_, value)| value.as_str())
    }
}

impl fmt::Display for RegistryAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tls = if self.is_tls { "+https" } else { "" };
        write!(f, "{}{tls}://{}/", self.kind.as_str(), self.hosts.join(","))?;
        for part in &self.scope {
            write!(f, "{part}/")?;
        }
        f.write_str(&self.service)
    }
}

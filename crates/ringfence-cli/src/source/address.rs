//! The address of a service in a registry.

use std::{env, fmt};

use ringfence_core::did_you_mean;

use super::kind::{Kind, decoded, is_plain, options};

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
        Some(Self::of(scheme, rest, |name| env::var(name).ok()))
    }

    fn of(
        scheme: &str,
        rest: &str,
        variable: impl Fn(&str) -> Option<String>,
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
                "a {name} address holds no user and password: give them by the environment or by files (ringfence help credentials); \
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
        let mut address = Self {
            kind,
            is_tls,
            hosts: Vec::new(),
            scope: segments,
            service,
            options: options(kind, query).map_err(fault)?,
        };
        let given = match hosts {
            "" => variable(kind.variable()).unwrap_or_default(),
            hosts => hosts.to_owned(),
        };
        address.set_hosts(&given).map_err(fault)?;
        Ok(address)
    }

    fn set_hosts(&mut self, given: &str) -> Result<(), String> {
        // Those of the address were looked at, so these are of the environment. As a whole: a password may have a comma.
        if given.contains('@') {
            let variable = self.kind.variable();
            return Err(format!(
                "{variable} holds a user or a password, which are given by variables or files of their own (ringfence help credentials)"
            ));
        }
        for host in given.split(',').map(str::trim).filter(|h| !h.is_empty()) {
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
            let port = self.kind.default_port();
            self.hosts.push(match is_bare {
                true => format!("{host}:{port}"),
                false => host.to_owned(),
            });
        }
        if self.hosts.is_empty() {
            self.hosts
                .push(format!("127.0.0.1:{}", self.kind.default_port()));
        }
        if self.kind == Kind::Consul && self.hosts.len() > 1 {
            return Err("Consul is asked through one address".to_owned());
        }
        Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<RegistryAddress, String> {
        let (scheme, rest) = text.split_once("://").unwrap();
        RegistryAddress::of(scheme, rest, |_| None)
    }

    #[test]
    fn hosts_scopes_service_and_options_are_told_apart() {
        for (text, hosts, scope, service) in [
            (
                "consul://10.0.0.1:8501/order",
                &["10.0.0.1:8501"][..],
                &[][..],
                "order",
            ),
            ("consul:///order", &["127.0.0.1:8500"], &[], "order"),
            (
                "consul://[::1]/dc1/order",
                &["[::1]:8500"],
                &["dc1"],
                "order",
            ),
            (
                "nacos://a,b:8849/order",
                &["a:8848", "b:8849"],
                &[],
                "order",
            ),
            (
                "nacos://a/ns/group/order",
                &["a:8848"],
                &["ns", "group"],
                "order",
            ),
            (
                "etcd://a:1,b:2/prod/shop%2Forder",
                &["a:1", "b:2"],
                &["prod"],
                "shop/order",
            ),
        ] {
            let address = parse(text).unwrap();
            assert_eq!(address.hosts, hosts, "{text}");
            assert_eq!(address.scope, scope, "{text}");
            assert_eq!(address.service, service, "{text}");
            assert!(!address.is_tls, "{text}");
        }
        let address = parse("consul+https://a/order?tag=v1&tag=blue%20one&filter=x").unwrap();
        assert!(address.is_tls);
        assert!(address.option("tag").eq(["v1", "blue one"]));
        assert_eq!(address.to_string(), "consul+https://a:8500/order");
    }

    #[test]
    fn the_environment_says_where_it_is_unless_the_address_does() {
        let of = |scheme: &str, rest: &str, given: &str| {
            RegistryAddress::of(scheme, rest, |name| {
                assert!(["CONSUL_HTTP_ADDR", "ETCD_ENDPOINTS"].contains(&name));
                Some(given.to_owned())
            })
            .unwrap()
        };
        let address = of("consul", "/order", "https://consul:8501");
        assert_eq!(
            (address.hosts, address.is_tls),
            (vec!["consul:8501".to_owned()], true)
        );
        let address = of("etcd", "/order", "http://a:1, http://b:2");
        assert_eq!(address.hosts, ["a:1", "b:2"]);
        assert_eq!(of("etcd", "c:3/order", "a:1").hosts, ["c:3"]);
    }

    #[test]
    fn what_is_wrong_is_told_and_credentials_are_never_repeated() {
        for (text, told) in [
            (
                "consol://a/b",
                "no registry `consol`, did you mean `consul`?",
            ),
            ("consul://a/b/c/d", "at most 1 names"),
            ("consul://a,b/c", "one address"),
            ("nacos://a/b?clustre=c", "did you mean `cluster`?"),
            ("nacos://a/b?cluster", "has no value"),
            ("etcd://a/%ff", "not UTF-8"),
        ] {
            let fault = parse(text).unwrap_err();
            assert!(fault.contains(told), "{fault}");
        }
        for scheme in ["consul", "nacos", "etcd"] {
            for secret in ["hunter2", "hunt?er2", "hunt/er2", "hunt#er2", "hunt&er2=x"] {
                let fault = parse(&format!("{scheme}://me:{secret}@a/b")).unwrap_err();
                assert!(
                    fault.contains("environment") && !fault.contains("hunt"),
                    "{fault}"
                );
            }
        }
        for text in ["me:hunter2@consul://a/b", "consul://a/b?me:hunter2=x"] {
            let fault = parse(text).unwrap_err();
            assert!(!fault.contains("hunter2"), "{fault}");
        }
        let filter = parse("consul://a/b?filter=Meta.owner==me%40shop").unwrap();
        assert!(filter.option("filter").eq(["Meta.owner==me@shop"]));
    }

    #[test]
    fn credentials_of_the_environment_are_not_repeated_either() {
        for (scheme, variable) in [
            ("consul", "CONSUL_HTTP_ADDR"),
            ("nacos", "NACOS_SERVER_ADDR"),
            ("etcd", "ETCD_ENDPOINTS"),
        ] {
            for given in [
                "http://me:hunter2@127.0.0.1:1",
                "me:hunter2@127.0.0.1",
                "http://127.0.0.1:1,http://me:hunt,er2@127.0.0.2:1",
            ] {
                let address = RegistryAddress::of(scheme, "/order", |_| Some(given.to_owned()));
                let fault = address.unwrap_err();
                assert!(
                    fault.contains(variable) && !fault.contains("hunt") && !fault.contains("me:"),
                    "{fault}"
                );
            }
        }
    }

    #[test]
    fn a_service_that_is_named_twice_must_be_the_same() {
        let bare = parse("etcd://a/").unwrap();
        assert_eq!(bare.clone().with_service(Some("x")).unwrap().service, "x");
        assert!(
            bare.with_service(None)
                .unwrap_err()
                .contains("which service?")
        );
        let full = parse("etcd://a/x").unwrap();
        assert!(
            full.clone().with_service(Some("x")).is_ok() && full.clone().with_service(None).is_ok()
        );
        assert!(full.with_service(Some("y")).is_err());
    }
}

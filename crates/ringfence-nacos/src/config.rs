use std::{collections::BTreeSet, path::PathBuf, time::Duration};

use ringfence_discovery::FieldMapping;

use crate::{
    NAME, NacosLogin,
    names::{self, DEFAULT_GROUP, PUBLIC},
    server::Server,
};

/// How to reach Nacos and how to read it.
///
/// # Examples
/// ```
/// use ringfence_nacos::{NacosConfig, NacosLogin};
///
/// let config = NacosConfig::new(["10.0.0.1:8848", "10.0.0.2:8848"])?
///     .with_namespace("prod")?
///     .with_group("SHOP")?
///     .with_login(NacosLogin::new("reader", "secret"));
/// assert!(!format!("{config:?}").contains("secret"));
/// # Ok::<(), ringfence_nacos::NacosConfigError>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct NacosConfig {
    pub(crate) servers: Vec<Server>,
    pub(crate) grpc_port: Option<u16>,
    pub(crate) namespace: String,
    pub(crate) group: String,
    pub(crate) clusters: BTreeSet<String>,
    pub(crate) login: Option<NacosLogin>,
    pub(crate) context_path: String,
    pub(crate) mapping: FieldMapping,
    pub(crate) read_timeout: Duration,
    pub(crate) poll_interval: Duration,
    pub(crate) cache_dir: Option<PathBuf>,
}

impl NacosConfig {
    /// One Nacos cluster, by the HTTP addresses of its servers: `host`, `host:port` (default port 8848). gRPC is expected
    /// 1000 above that port.
    ///
    /// # Errors
    /// [`NacosConfigError`] when there is no address, or one is malformed or above port 64,535.
    pub fn new<S: AsRef<str>>(
        servers: impl IntoIterator<Item = S>,
    ) -> Result<Self, NacosConfigError> {
        let mut servers = servers
            .into_iter()
            .map(|server| Server::parse(server.as_ref()))
            .collect::<Result<Vec<_>, _>>()?;
        // The same servers in another order are the same Nacos, and share one connection.
        servers.sort();
        servers.dedup();
        if servers.is_empty() {
            return Err(NacosConfigError::new("servers", "at least one"));
        }
        if servers.iter().any(|server| server.grpc_port().is_none()) {
            return Err(NacosConfigError::new(
                "server port",
                "at most 64535, since gRPC is 1000 above it",
            ));
        }
        Ok(Self {
            servers,
            grpc_port: None,
            namespace: PUBLIC.to_owned(),
            group: DEFAULT_GROUP.to_owned(),
            clusters: BTreeSet::new(),
            login: None,
            context_path: "/nacos".to_owned(),
            mapping: FieldMapping::for_nacos(),
            read_timeout: Duration::from_secs(3),
            poll_interval: Duration::from_secs(10),
            cache_dir: None,
        })
    }

    /// Sets the gRPC port of all servers, where it is not 1000 above the HTTP port.
    ///
    /// # Errors
    /// [`NacosConfigError`] for 0.
    pub fn with_grpc_port(mut self, port: u16) -> Result<Self, NacosConfigError> {
        if port == 0 {
            return Err(NacosConfigError::new("gRPC port", "1 to 65535"));
        }
        self.grpc_port = Some(port);
        Ok(self)
    }

    /// Sets the namespace, by its id. Default `public`, which the empty text means too.
    ///
    /// # Errors
    /// [`NacosConfigError`] for other names than 1 to 128 letters, digits, `_`, `.`, `:` and `-`.
    pub fn with_namespace(mut self, namespace: &str) -> Result<Self, NacosConfigError> {
        let namespace = if namespace.is_empty() {
            PUBLIC
        } else {
            namespace
        };
        names::check("namespace", namespace)?;
        self.namespace = namespace.to_owned();
        Ok(self)
    }

    /// Sets the group of services whose [`ServiceKey`](ringfence_discovery::ServiceKey) has no namespace; one that has one
    /// names its group by it. Default `DEFAULT_GROUP`.
    ///
    /// # Errors
    /// [`NacosConfigError`], as for the namespace.
    pub fn with_group(mut self, group: &str) -> Result<Self, NacosConfigError> {
        names::check("group", group)?;
        self.group = group.to_owned();
        Ok(self)
    }

    /// Uses only instances of these Nacos clusters; none, the default, means all. The choice is made here and not by the
    /// server, so that watchers with different clusters do not disturb each other.
    ///
    /// The cluster is also the zone of an instance that has no metadata `zone`, unless it is `DEFAULT`; a
    /// [`mapping`](Self::with_mapping) without the registry among the zone's sources changes that.
    ///
    /// # Errors
    /// [`NacosConfigError`], as for the namespace.
    pub fn with_clusters<S: Into<String>>(
        mut self,
        clusters: impl IntoIterator<Item = S>,
    ) -> Result<Self, NacosConfigError> {
        let clusters: BTreeSet<String> = clusters.into_iter().map(Into::into).collect();
        for cluster in &clusters {
            names::check("cluster", cluster)?;
        }
        self.clusters = clusters;
        Ok(self)
    }

    /// Logs in as this user. Default: no login.
    #[must_use]
    pub fn with_login(mut self, login: NacosLogin) -> Self {
        self.login = Some(login);
        self
    }

    /// Sets the path under which the servers have their HTTP interface, needed for the login only. Default `/nacos`.
    ///
    /// # Errors
    /// [`NacosConfigError`] unless it is empty or `/` and names of letters, digits, `_`, `.`, `:` and `-`.
    pub fn with_context_path(mut self, path: &str) -> Result<Self, NacosConfigError> {
        let path = path.strip_suffix('/').unwrap_or(path);
        let mut parts = path.split('/');
        if parts.next() != Some("") {
            return Err(NacosConfigError::new(
                "context path",
                "empty, or to begin with `/`",
            ));
        }
        for part in parts {
            names::check("context path", part)?;
        }
        self.context_path = path.to_owned();
        Ok(self)
    }

    /// Sets which metadata gives which field. Default [`FieldMapping::for_nacos`].
    #[must_use]
    pub fn with_mapping(mut self, mapping: FieldMapping) -> Self {
        self.mapping = mapping;
        self
    }

    /// Sets how long one read of a list may take before it counts as failed: 100 ms to 60 s. Default 3 s. Of several watchers of
    /// one service in a process, the first one's holds.
    ///
    /// # Errors
    /// [`NacosConfigError`] outside the range.
    pub fn with_read_timeout(mut self, timeout: Duration) -> Result<Self, NacosConfigError> {
        let range = Duration::from_millis(100)..=Duration::from_secs(60);
        if !range.contains(&timeout) {
            return Err(NacosConfigError::new("read timeout", "100 ms to 60 s"));
        }
        self.read_timeout = timeout;
        Ok(self)
    }

    /// Sets how often a list is read although the server announced no change: 1 s to 1 h, ±20 %. It is the net under lost
    /// announcements, and what shows that the server is alive. Default 10 s. Of several watchers of one service in a process,
    /// the first one's holds.
    ///
    /// # Errors
    /// [`NacosConfigError`] outside the range.
    pub fn with_poll_interval(mut self, interval: Duration) -> Result<Self, NacosConfigError> {
        if !(Duration::from_secs(1)..=Duration::from_secs(3600)).contains(&interval) {
            return Err(NacosConfigError::new("poll interval", "1 s to 1 h"));
        }
        self.poll_interval = interval;
        Ok(self)
    }

    /// Sets the folder into which the client library writes copies of the lists, which it cannot be kept from; nothing here
    /// reads them. It is made, for this user only, where it does not exist. Default: a fresh folder in the system's temporary
    /// one for each process and connection, which stays behind when the process ends.
    #[must_use]
    pub fn with_cache_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.cache_dir = Some(dir.into());
        self
    }

    /// Names what is read: whatever changes the lists, and no login.
    pub(crate) fn registry(&self) -> String {
        let (servers, clusters) = (&self.servers, &self.clusters);
        let mut name = format!("{NAME} {servers:?} {}/{}", self.namespace, self.group);
        if !clusters.is_empty() {
            name.push_str(&format!(" clusters={clusters:?}"));
        }
        if self.mapping != FieldMapping::for_nacos() {
            name.push_str(&format!(" mapping={:?}", self.mapping));
        }
        name
    }
}

/// A setting of [`NacosConfig`], or the name of a service, is not legal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} must be {expected}")]
pub struct NacosConfigError {
    field: &'static str,
    expected: &'static str,
}

impl NacosConfigError {
    pub(crate) fn new(field: &'static str, expected: &'static str) -> Self {
        Self { field, expected }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> NacosConfig {
        NacosConfig::new(["127.0.0.1:8848"]).expect("legal")
    }

    #[test]
    fn settings_are_checked() {
        assert!(NacosConfig::new(Vec::<String>::new()).is_err());
        assert!(NacosConfig::new(["h:64535"]).is_ok());
        assert!(
            NacosConfig::new(["h:64536"]).is_err(),
            "gRPC would be above 65535"
        );
        assert!(config().with_namespace("../esc").is_err());
        assert!(config().with_group("a@@b").is_err());
        assert!(config().with_clusters(["ok", "a,b"]).is_err());
        assert!(config().with_context_path("").is_ok());
        assert!(config().with_context_path("/").is_ok());
        assert!(config().with_context_path("/a/b/").is_ok());
        for bad in ["nacos", "/a?b", "/../x", "//x"] {
            assert!(config().with_context_path(bad).is_err(), "{bad}");
        }
        assert!(config().with_read_timeout(Duration::ZERO).is_err());
        assert!(config().with_poll_interval(Duration::ZERO).is_err());
        assert!(config().with_grpc_port(0).is_err());
    }

    /// Copies on disk are kept apart by it (B38).
    #[test]
    fn clients_that_may_see_other_instances_read_other_registries() {
        let plain = config().registry();
        assert_eq!(plain, "nacos [127.0.0.1:8848] public/DEFAULT_GROUP");
        let login = NacosLogin::new("reader", "hunter2");
        assert_eq!(config().with_login(login).registry(), plain);
        for other in [
            NacosConfig::new(["127.0.0.1:8849"]),
            config().with_namespace("prod"),
            config().with_group("SHOP"),
            config().with_clusters(["east"]),
            Ok(config().with_mapping(FieldMapping::default())),
        ] {
            assert_ne!(other.expect("legal").registry(), plain);
        }
    }

    #[test]
    fn the_two_names_of_the_public_namespace_are_one() {
        let named = config().with_namespace("public").expect("legal");
        let empty = config().with_namespace("").expect("legal");
        assert_eq!(named.namespace, empty.namespace);
    }

    #[test]
    fn the_order_of_the_servers_does_not_matter() {
        let one = NacosConfig::new(["b", "a:8848", "a"]).expect("legal");
        let other = NacosConfig::new(["a", "b"]).expect("legal");
        assert_eq!(one.servers, other.servers);
    }
}

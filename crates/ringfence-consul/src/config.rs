use std::{fmt, time::Duration};

use ringfence_discovery::FieldMapping;

use crate::{ConsulConfigError, ConsulTls, ConsulToken, NAME};

const SECOND: Duration = Duration::from_secs(1);
const TEN_MINUTES: Duration = Duration::from_secs(600);

/// How a Consul is reached and read.
///
/// Nothing is read from the environment: neither Consul's own variables nor those of proxies.
///
/// # Examples
/// ```
/// use ringfence_consul::{Consistency, ConsulConfig, ConsulToken};
///
/// let config = ConsulConfig::new("http://127.0.0.1:8500")
///     .with_token(ConsulToken::file("/var/run/secrets/consul/token"))
///     .with_datacenter("dc2")
///     .with_filter("Service.Meta.tier == \"web\"")
///     .with_consistency(Consistency::Stale);
/// assert!(ringfence_consul::ConsulDiscovery::new(config).is_ok());
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct ConsulConfig {
    pub(crate) address: String,
    pub(crate) token: Option<ConsulToken>,
    pub(crate) tls: Option<ConsulTls>,
    pub(crate) datacenter: Option<String>,
    pub(crate) namespace: Option<String>,
    pub(crate) partition: Option<String>,
    pub(crate) key_namespace: KeyNamespace,
    pub(crate) filter: Option<String>,
    pub(crate) tags: Vec<String>,
    pub(crate) consistency: Consistency,
    pub(crate) warning: WarningPolicy,
    pub(crate) identity: InstanceIdentity,
    pub(crate) mapping: FieldMapping,
    pub(crate) wait: Duration,
    pub(crate) slack: Duration,
    pub(crate) connect_timeout: Duration,
    pub(crate) poll_interval: Duration,
    pub(crate) max_body: usize,
    pub(crate) max_watches: usize,
}

/// How fresh the answers of Consul's servers must be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Consistency {
    /// The leader answers, from memory (Consul's own default).
    #[default]
    Leader,
    /// The leader asks the other servers first: never old, and slower.
    Consistent,
    /// Any server answers. What seems to go back in time is asked of the leader before it is believed, and single reads always
    /// go to the leader.
    Stale,
}

/// What an instance is whose worst check says `warning`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WarningPolicy {
    /// Healthy, with the weight `Weights.Warning` (default).
    #[default]
    Healthy,
    /// Unhealthy, with the weight `Weights.Passing`.
    Unhealthy,
}

/// What the namespace of a [`ServiceKey`](ringfence_discovery::ServiceKey) names in Consul.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum KeyNamespace {
    /// A datacenter (default), which every Consul has.
    #[default]
    Datacenter,
    /// A namespace, which the Enterprise servers have; others refuse the request.
    Namespace,
}

/// What becomes the id of an instance. The metadata key that the [`FieldMapping`] names goes before either.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum InstanceIdentity {
    /// `datacenter/node/service-id` (default): unique, since Consul's service ids are so on one node only. `/` and `%` within
    /// the first two parts are percent-encoded.
    #[default]
    Qualified,
    /// The service id alone, for services whose ids are unique in the datacenter and move from node to node: their keys
    /// then move with them. Of several instances with one id only one is used.
    ServiceId,
}

impl ConsulConfig {
    /// A Consul at this address: `http://host:port` or `https://host:port`, with a path in front of the API if it has one.
    pub fn new(address: impl Into<String>) -> Self {
        Self {
            address: address.into(),
            token: None,
            tls: None,
            datacenter: None,
            namespace: None,
            partition: None,
            key_namespace: KeyNamespace::default(),
            filter: None,
            tags: Vec::new(),
            consistency: Consistency::default(),
            warning: WarningPolicy::default(),
            identity: InstanceIdentity::default(),
            mapping: FieldMapping::default(),
            wait: Duration::from_secs(10),
            slack: Duration::from_secs(3),
            connect_timeout: Duration::from_secs(1),
            poll_interval: Duration::from_millis(500),
            max_body: 32 << 20,
            max_watches: 128,
        }
    }

    /// Sends this ACL token; default none.
    pub fn with_token(mut self, token: ConsulToken) -> Self {
        self.token = Some(token);
        self
    }

    /// Trust and identity on `https` addresses.
    pub fn with_tls(mut self, tls: ConsulTls) -> Self {
        self.tls = Some(tls);
        self
    }

    /// Reads services of this datacenter, unless the service key names one; default the agent's own.
    pub fn with_datacenter(mut self, datacenter: impl Into<String>) -> Self {
        self.datacenter = Some(datacenter.into());
        self
    }

    /// Reads and registers services in this namespace (Consul Enterprise); default the token's own.
    pub fn with_namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// Reads and registers services in this admin partition (Consul Enterprise); default the agent's own.
    pub fn with_partition(mut self, partition: impl Into<String>) -> Self {
        self.partition = Some(partition.into());
        self
    }

    /// What the namespace of a service key names; default the datacenter.
    pub fn with_key_namespace(mut self, meaning: KeyNamespace) -> Self {
        self.key_namespace = meaning;
        self
    }

    /// Lets Consul leave out what this [filter expression](https://developer.hashicorp.com/consul/api-docs/features/filtering)
    /// does not match; default none.
    pub fn with_filter(mut self, filter: impl Into<String>) -> Self {
        self.filter = Some(filter.into());
        self
    }

    /// Lets Consul leave out instances without this tag; of several tags all must be there.
    pub fn with_required_tag(mut self, tag: impl Into<String>) -> Self {
        self.tags.push(tag.into());
        self
    }

    /// How fresh the answers must be; default [`Consistency::Leader`].
    pub fn with_consistency(mut self, consistency: Consistency) -> Self {
        self.consistency = consistency;
        self
    }

    /// What an instance in `warning` is; default healthy.
    pub fn with_warning(mut self, warning: WarningPolicy) -> Self {
        self.warning = warning;
        self
    }

    /// What becomes the id of an instance; default [`InstanceIdentity::Qualified`].
    pub fn with_identity(mut self, identity: InstanceIdentity) -> Self {
        self.identity = identity;
        self
    }

    /// Which metadata and `key=value` tags are version, zone, weight and so on. A Consul weight of 1, which is Consul's default,
    /// is the weight 100, unless the mapping says otherwise.
    pub fn with_mapping(mut self, mapping: FieldMapping) -> Self {
        self.mapping = mapping;
        self
    }

    /// How long Consul holds a query while nothing changes; 1 s to 10 min, default 10 s, each query up to 10 % less. The end of
    /// each is a sign of life, and after Consul lost its data a watch may be blind for this long.
    pub fn with_wait(mut self, wait: Duration) -> Self {
        self.wait = wait;
        self
    }

    /// How much longer than asked an answer may take; 100 ms to 10 min, default 3 s. A query that Consul may hold is given up
    /// after its wait, the sixteenth that Consul adds to it, and this; any other after this.
    pub fn with_slack(mut self, slack: Duration) -> Self {
        self.slack = slack;
        self
    }

    /// How long making a connection may take; 1 ms to 10 min, default 1 s.
    pub fn with_connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Mean time between the queries of one service if all are answered at once; up to 10 min, default 500 ms. Four may follow
    /// each other faster.
    pub fn with_poll_interval(mut self, interval: Duration) -> Self {
        self.poll_interval = interval;
        self
    }

    /// Largest answer, in bytes; at least 1,024, default 32 MiB. A larger one is an error.
    pub fn with_max_body(mut self, bytes: usize) -> Self {
        self.max_body = bytes;
        self
    }

    /// Most services watched at a time; at least 1, default 128. Each holds a connection, however many watch it, and Consul's
    /// agents by default refuse more than 200 of one client address (`limits.http_max_conns_per_client`).
    /// Watches of documents by [`ConsulKv`](crate::ConsulKv) hold further connections and are not counted.
    pub fn with_max_watches(mut self, watches: usize) -> Self {
        self.max_watches = watches;
        self
    }

    /// Names what is read: whatever changes the lists, and no token.
    pub(crate) fn registry(&self) -> String {
        let mut name = format!("{NAME} {}", self.address.trim_end_matches('/'));
        let mut tags = self.tags.clone();
        tags.sort();
        unless_default(&mut name, "datacenter", &self.datacenter);
        unless_default(&mut name, "namespace", &self.namespace);
        unless_default(&mut name, "partition", &self.partition);
        unless_default(&mut name, "filter", &self.filter);
        unless_default(&mut name, "tags", &tags);
        unless_default(&mut name, "key", &self.key_namespace);
        unless_default(&mut name, "warning", &self.warning);
        unless_default(&mut name, "identity", &self.identity);
        unless_default(&mut name, "mapping", &self.mapping);
        name
    }

    pub(crate) fn check(&self) -> Result<(), ConsulConfigError> {
        let within = |value: Duration, least: Duration| value >= least && value <= TEN_MINUTES;
        let milli = Duration::from_millis(1);
        let rules = [
            ("wait", within(self.wait, SECOND), "1 s to 10 min"),
            ("slack", within(self.slack, 100 * milli), "100 ms to 10 min"),
            (
                "connect_timeout",
                within(self.connect_timeout, milli),
                "1 ms to 10 min",
            ),
            (
                "poll_interval",
                within(self.poll_interval, Duration::ZERO),
                "at most 10 min",
            ),
            ("max_body", self.max_body >= 1_024, "at least 1024 bytes"),
            ("max_watches", self.max_watches >= 1, "at least 1"),
        ];
        match rules.iter().find(|(_, legal, _)| !legal) {
            Some((setting, _, expected)) => Err(ConsulConfigError::Range { setting, expected }),
            None => self.token.as_ref().map_or(Ok(()), ConsulToken::check),
        }
    }
}

fn unless_default<T: Default + PartialEq + fmt::Debug>(name: &mut String, part: &str, value: &T) {
    if *value != T::default() {
        name.push_str(&format!(" {part}={value:?}"));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// Copies on disk are kept apart by it (B38).
    #[test]
    fn clients_that_may_see_other_instances_read_other_registries() {
        let config = || ConsulConfig::new("http://127.0.0.1:8500");
        let different = [
            config(),
            ConsulConfig::new("http://127.0.0.1:8501"),
            config().with_datacenter("a"),
            config().with_namespace("a"),
            config().with_partition("a"),
            config().with_filter("a"),
            config().with_required_tag("a"),
            config().with_required_tag("a").with_required_tag("b"),
            config().with_key_namespace(KeyNamespace::Namespace),
            config().with_warning(WarningPolicy::Unhealthy),
            config().with_identity(InstanceIdentity::ServiceId),
            config().with_mapping(FieldMapping::for_nacos()),
        ];
        let names: HashSet<_> = different.iter().map(ConsulConfig::registry).collect();
        assert_eq!(names.len(), different.len(), "{names:?}");
    }

    #[test]
    fn equal_clients_read_one_registry_and_no_token_names_it() {
        let plain = ConsulConfig::new("http://127.0.0.1:8500");
        assert_eq!(plain.registry(), "consul http://127.0.0.1:8500");
        let token = ConsulToken::value("s3cr3t");
        let with_token = ConsulConfig::new("http://127.0.0.1:8500/").with_token(token);
        assert_eq!(with_token.registry(), plain.registry());
        let one = plain.clone().with_required_tag("a").with_required_tag("b");
        let other = plain.with_required_tag("b").with_required_tag("a");
        assert_eq!(one.registry(), other.registry());
    }
}

use std::{fmt, sync::Arc};

/// Names a service in a registry: its name, and its namespace where the registry has them.
///
/// What a namespace is depends on the source: a Consul datacenter or namespace, a Nacos group, an etcd prefix. A source that
/// has none treats `prod/order` as one name.
///
/// # Examples
/// ```
/// use ringfence_discovery::ServiceKey;
///
/// let order = ServiceKey::new("order").with_namespace("prod");
/// assert_eq!(order.to_string(), "prod/order");
/// assert_ne!(order, ServiceKey::new("order"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServiceKey {
    namespace: Option<Arc<str>>,
    name: Arc<str>,
}

impl ServiceKey {
    /// A service without a namespace. The name is not checked here: a source answers an impossible name like an unknown one.
    #[must_use]
    pub fn new(name: impl AsRef<str>) -> Self {
        Self {
            namespace: None,
            name: name.as_ref().into(),
        }
    }

    /// The same service name in a namespace; an empty namespace means none.
    #[must_use]
    pub fn with_namespace(mut self, namespace: impl AsRef<str>) -> Self {
        let namespace = namespace.as_ref();
        self.namespace = (!namespace.is_empty()).then(|| namespace.into());
        self
    }

    /// The name, without the namespace.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The namespace, if one was given.
    #[must_use]
    pub fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }
}

impl fmt::Display for ServiceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(namespace) = &self.namespace {
            write!(f, "{namespace}/")?;
        }
        f.write_str(&self.name)
    }
}

impl From<&str> for ServiceKey {
    /// The whole text is the name.
    fn from(name: &str) -> Self {
        Self::new(name)
    }
}

impl From<String> for ServiceKey {
    /// The whole text is the name.
    fn from(name: String) -> Self {
        Self::new(name)
    }
}

impl From<&Self> for ServiceKey {
    /// A clone, which copies no text.
    fn from(service: &Self) -> Self {
        service.clone()
    }
}

//! What is known of each registry.

use percent_encoding::percent_decode_str;
use ringfence_core::did_you_mean;

/// Which registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Consul,
    Nacos,
    Etcd,
}

impl Kind {
    pub(super) const ALL: [Self; 3] = [Self::Consul, Self::Nacos, Self::Etcd];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Consul => "consul",
            Self::Nacos => "nacos",
            Self::Etcd => "etcd",
        }
    }

    pub(super) fn default_port(self) -> u16 {
        match self {
            Self::Consul => 8500,
            Self::Nacos => 8848,
            Self::Etcd => 2379,
        }
    }

    /// The variable that says where it is, as the registry's own tools and the examples read it.
    pub(super) fn variable(self) -> &'static str {
        match self {
            Self::Consul => "CONSUL_HTTP_ADDR",
            Self::Nacos => "NACOS_SERVER_ADDR",
            Self::Etcd => "ETCD_ENDPOINTS",
        }
    }

    /// How many parts the scope may have.
    pub(super) fn most_scopes(self) -> usize {
        match self {
            Self::Consul | Self::Etcd => 1,
            Self::Nacos => 2,
        }
    }

    pub(super) fn options(self) -> &'static [&'static str] {
        match self {
            Self::Consul => &["consistency", "filter", "namespace", "partition", "tag"],
            Self::Nacos => &["cluster"],
            Self::Etcd => &["codec", "root"],
        }
    }
}

pub(super) fn options(kind: Kind, query: &str) -> Result<Vec<(String, String)>, String> {
    let mut options = Vec::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let known = kind.options();
        if !known.contains(&name) && !is_plain(name) {
            return Err(format!(
                "an option of {} is one of {}",
                kind.as_str(),
                known.join(", ")
            ));
        }
        if !known.contains(&name) {
            let hint = did_you_mean(name, known.iter().copied());
            return Err(format!("no option `{name}` of {}{hint}", kind.as_str()));
        }
        if value.is_empty() {
            return Err(format!("the option `{name}` has no value"));
        }
        options.push((name.to_owned(), decoded(value)?));
    }
    Ok(options)
}

/// Whether a foreign text is a name as those of options and registries are, which can be repeated: a password that went astray is
/// seldom one.
pub(super) fn is_plain(name: &str) -> bool {
    name.bytes()
        .all(|byte| byte.is_ascii_lowercase() || byte == b'_')
}

pub(super) fn decoded(text: &str) -> Result<String, String> {
    let text = percent_decode_str(text).decode_utf8();
    text.map(Into::into).map_err(|_| "not UTF-8".to_owned())
}

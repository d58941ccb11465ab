use std::error::Error;

/// Why a [`ConsulConfig`](crate::ConsulConfig) cannot be used. No text here holds a secret.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConsulConfigError {
    /// The address is not one of a Consul API.
    #[error("Consul address: {reason}")]
    Address {
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The key is not one that can be asked for.
    #[error("Consul key: {reason}")]
    Key {
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A setting is out of its range.
    #[error("{setting} must be {expected}")]
    Range {
        /// Name of the setting.
        setting: &'static str,
        /// What is legal.
        expected: &'static str,
    },
    /// The token cannot be sent as a header.
    #[error("the ACL token {reason}")]
    Token {
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A certificate or a key cannot be used.
    #[error("TLS: {reason}")]
    Tls {
        /// What is wrong.
        reason: &'static str,
        /// What the TLS library said.
        #[source]
        source: Option<Box<dyn Error + Send + Sync>>,
    },
}

/// Why an [`EtcdConfig`](crate::EtcdConfig) cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EtcdConfigError {
    /// There is no endpoint.
    #[error("at least one endpoint is needed")]
    NoEndpoints,
    /// An endpoint is no `host:port` and no `http` or `https` URL of one. Its text is not shown: it may hold a password.
    #[error(
        "endpoint {position} is not of the form [http[s]://]host:port, without user, path and query"
    )]
    Endpoint {
        /// Its position in the list, from 1.
        position: usize,
    },
    /// An endpoint says `http` and TLS is set up, or says `https` and TLS is not.
    #[error("endpoint {position} says {scheme}, {}", match *scheme {
        "https" => "which needs `EtcdConfig::with_tls`",
        _ => "but `EtcdConfig::with_tls` sets up TLS",
    })]
    Scheme {
        /// Its position in the list, from 1.
        position: usize,
        /// Its scheme.
        scheme: &'static str,
    },
    /// The CA given holds no usable certificate.
    #[error("the CA has no usable certificate in PEM form")]
    Ca,
    /// The client certificate or its key cannot be read.
    #[error("the client certificate or its private key is not in PEM form")]
    Identity,
    /// A number is outside its range.
    #[error("{name} must be {range}")]
    Range {
        /// Which setting.
        name: &'static str,
        /// Its legal range.
        range: &'static str,
    },
}

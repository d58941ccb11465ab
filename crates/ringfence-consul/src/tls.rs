use std::{fmt, sync::Arc};

use reqwest::{Certificate, ClientBuilder, Identity};

use crate::ConsulConfigError;

/// Whom to trust, and who we are, on `https` addresses. The default trusts the well-known public authorities.
///
/// # Examples
/// ```
/// use ringfence_consul::{ConsulConfig, ConsulTls};
///
/// # fn main() {
/// # let (ca, identity) = ("", "");
/// let tls = ConsulTls::default().with_ca_pem(ca).with_identity_pem(identity);
/// let config = ConsulConfig::new("https://consul.internal:8501").with_tls(tls);
/// # drop(config);
/// # }
/// ```
#[derive(Clone, Default)]
pub struct ConsulTls {
    ca: Option<Arc<[u8]>>,
    identity: Option<Arc<[u8]>>,
}

impl ConsulTls {
    /// Trusts these authorities (one or more PEM certificates) and no others.
    #[must_use]
    pub fn with_ca_pem(mut self, pem: impl AsRef<[u8]>) -> Self {
        self.ca = Some(pem.as_ref().into());
        self
    }

    /// Shows this certificate to the server: PEM of the private key and of the certificate chain, in one text.
    #[must_use]
    pub fn with_identity_pem(mut self, pem: impl AsRef<[u8]>) -> Self {
        self.identity = Some(pem.as_ref().into());
        self
    }

    pub(crate) fn apply(
        &self,
        mut builder: ClientBuilder,
    ) -> Result<ClientBuilder, ConsulConfigError> {
        if let Some(ca) = &self.ca {
            let certificates = Certificate::from_pem_bundle(ca)
                .map_err(|source| failed("the CA is not PEM", source))?;
            // A text without any certificate would be accepted and trust nobody.
            if certificates.is_empty() {
                return Err(ConsulConfigError::Tls {
                    reason: "the CA holds no certificate",
                    source: None,
                });
            }
            builder = builder.tls_built_in_root_certs(false);
            for certificate in certificates {
                builder = builder.add_root_certificate(certificate);
            }
        }
        if let Some(identity) = &self.identity {
            let identity = Identity::from_pem(identity)
                .map_err(|source| failed("the identity needs a key and a certificate", source))?;
            builder = builder.identity(identity);
        }
        Ok(builder)
    }
}

pub(crate) fn failed(reason: &'static str, source: reqwest::Error) -> ConsulConfigError {
    ConsulConfigError::Tls {
        reason,
        source: Some(Box::new(source.without_url())),
    }
}

impl fmt::Debug for ConsulTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConsulTls")
            .field("own_ca", &self.ca.is_some())
            .field("identity", &self.identity.is_some())
            .finish()
    }
}

use std::fmt;

use etcd_client::{Certificate, Identity, TlsOptions};
use tokio_rustls::rustls::{
    RootCertStore,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
};

use crate::EtcdConfigError;

/// How connections to etcd are encrypted, and how the client proves who it is.
///
/// Certificates and keys are checked when they are set: etcd's client would take garbage in silence and then trust nobody.
///
/// # Examples
/// ```
/// use ringfence_etcd::EtcdTls;
///
/// let error = EtcdTls::with_ca("no certificate").expect_err("garbage");
/// assert_eq!(error.to_string(), "the CA has no usable certificate in PEM form");
/// ```
#[derive(Clone)]
pub struct EtcdTls {
    options: TlsOptions,
    domain_name: Option<String>,
    has_identity: bool,
}

impl EtcdTls {
    /// Trusts the certificates that are signed by one of these authorities, in PEM form, and no others.
    ///
    /// # Errors
    /// [`EtcdConfigError::Ca`] when there is no usable certificate in it.
    pub fn with_ca(pem: impl AsRef<[u8]>) -> Result<Self, EtcdConfigError> {
        let pem = pem.as_ref();
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(pem) {
            let certificate = certificate.map_err(|_| EtcdConfigError::Ca)?;
            roots.add(certificate).map_err(|_| EtcdConfigError::Ca)?;
        }
        if roots.is_empty() {
            return Err(EtcdConfigError::Ca);
        }
        Ok(Self {
            options: TlsOptions::new().ca_certificate(Certificate::from_pem(pem)),
            domain_name: None,
            has_identity: false,
        })
    }

    /// Trusts what the system trusts.
    #[cfg(feature = "native-roots")]
    #[must_use]
    pub fn with_native_roots() -> Self {
        Self {
            options: TlsOptions::new().with_native_roots(),
            domain_name: None,
            has_identity: false,
        }
    }

    /// Shows this certificate chain to the server (mTLS); both in PEM form.
    ///
    /// # Errors
    /// [`EtcdConfigError::Identity`] when there is no certificate or no private key in it.
    pub fn with_identity(
        mut self,
        certificates: impl AsRef<[u8]>,
        key: impl AsRef<[u8]>,
    ) -> Result<Self, EtcdConfigError> {
        let (certificates, key) = (certificates.as_ref(), key.as_ref());
        let mut chain = CertificateDer::pem_slice_iter(certificates);
        let first = chain.next().and_then(Result::ok);
        if first.is_none()
            || chain.any(|certificate| certificate.is_err())
            || PrivateKeyDer::from_pem_slice(key).is_err()
        {
            return Err(EtcdConfigError::Identity);
        }
        self.options = self.options.identity(Identity::from_pem(certificates, key));
        self.has_identity = true;
        Ok(self)
    }

    /// The name that the server's certificate must have; default: the host of the endpoint.
    #[must_use]
    pub fn with_domain_name(mut self, name: impl Into<String>) -> Self {
        let name = name.into();
        self.options = self.options.domain_name(&name);
        self.domain_name = Some(name);
        self
    }

    pub(crate) fn options(&self) -> TlsOptions {
        self.options.clone()
    }
}

impl fmt::Debug for EtcdTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EtcdTls")
            .field("domain_name", &self.domain_name)
            .field("has_identity", &self.has_identity)
            .finish_non_exhaustive()
    }
}

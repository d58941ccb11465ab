use std::{fmt, io, sync::Arc};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use tokio_rustls::rustls::{
    ServerConfig, crypto,
    pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer},
};

/// A certificate authority made for one test.
pub struct TestCa {
    certificate_pem: String,
    issuer: Issuer<'static, KeyPair>,
}

/// A server's certificate and key, signed by a [`TestCa`].
#[derive(Clone)]
pub struct ServerIdentity {
    certificate_pem: String,
    key_pem: String,
    config: Arc<ServerConfig>,
}

impl TestCa {
    /// Makes a new authority.
    ///
    /// # Errors
    /// Those of generating keys.
    pub fn new() -> io::Result<Self> {
        let mut params = CertificateParams::new(Vec::new()).map_err(io::Error::other)?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        params
            .distinguished_name
            .push(DnType::CommonName, "Ringfence test authority");
        let key = KeyPair::generate().map_err(io::Error::other)?;
        let certificate = params.self_signed(&key).map_err(io::Error::other)?;
        Ok(Self {
            certificate_pem: certificate.pem(),
            issuer: Issuer::new(params, key),
        })
    }

    /// The authority's certificate, for clients to trust.
    #[must_use]
    pub fn certificate_pem(&self) -> &str {
        &self.certificate_pem
    }

    /// Signs a certificate for `names`: DNS names, or IP addresses as text.
    ///
    /// # Errors
    /// If a name is neither, or generating keys fails.
    pub fn server(&self, names: &[&str]) -> io::Result<ServerIdentity> {
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        let params = CertificateParams::new(names).map_err(io::Error::other)?;
        let key = KeyPair::generate().map_err(io::Error::other)?;
        let certificate = params
            .signed_by(&key, &self.issuer)
            .map_err(io::Error::other)?;
        let config = server_config(certificate.der().clone(), key.serialize_der())?;
        Ok(ServerIdentity {
            certificate_pem: certificate.pem(),
            key_pem: key.serialize_pem(),
            config: Arc::new(config),
        })
    }
}

fn server_config(certificate: CertificateDer<'static>, key: Vec<u8>) -> io::Result<ServerConfig> {
    // The provider is named, since the process may have several and no default.
    let provider = Arc::new(crypto::ring::default_provider());
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key));
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| {
            builder
                .with_no_client_auth()
                .with_single_cert(vec![certificate], key)
        })
        .map_err(io::Error::other)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

impl ServerIdentity {
    /// The server's certificate.
    #[must_use]
    pub fn certificate_pem(&self) -> &str {
        &self.certificate_pem
    }

    /// The server's private key.
    #[must_use]
    pub fn key_pem(&self) -> &str {
        &self.key_pem
    }

    /// A rustls configuration that serves it, offering HTTP/2 and HTTP/1.1.
    #[must_use]
    pub fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.config)
    }
}

impl fmt::Debug for TestCa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TestCa").finish_non_exhaustive()
    }
}

impl fmt::Debug for ServerIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerIdentity").finish_non_exhaustive()
    }
}

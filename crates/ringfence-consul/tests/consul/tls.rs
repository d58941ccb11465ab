//! TLS with an own authority, and with a client certificate.

use std::sync::Arc;

use ringfence_consul::{ConsulConfig, ConsulDiscovery, ConsulTls};
use ringfence_discovery::{Discovery as _, ErrorKind};
use ringfence_testkit::{Backend, TestCa};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        RootCertStore, ServerConfig,
        crypto::ring::default_provider,
        pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
        server::WebPkiClientVerifier,
    },
};

use crate::fake::{answer, at, config, consul, ids, key, list, within};

#[tokio::test]
async fn an_own_authority_is_trusted_and_no_other() {
    let (ca, other) = (TestCa::new().expect("a CA"), TestCa::new().expect("a CA"));
    let identity = ca.server(&["127.0.0.1"]).expect("a certificate");
    let backend = Backend::start_tls(&identity).await.expect("a port");
    backend.always(answer("7", &["a"]));
    let trusting = |ca: &TestCa| ConsulTls::default().with_ca_pem(ca.certificate_pem());
    let update = consul(config(&backend).with_tls(trusting(&ca)))
        .fetch(&key())
        .await
        .expect("trusted");
    assert_eq!(ids(&update), ["a"]);
    assert_eq!(
        format!("{:?}", backend.requests()[0].version),
        "HTTP/1.1",
        "also where HTTP/2 is offered"
    );
    let public = config(&backend);
    for distrusting in [config(&backend).with_tls(trusting(&other)), public] {
        let error = consul(distrusting)
            .fetch(&key())
            .await
            .expect_err("distrusted");
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        assert!(error.to_string().contains("certificate"), "{error}");
    }
    let both = format!("{}{}", other.certificate_pem(), ca.certificate_pem());
    let bundle = ConsulTls::default().with_ca_pem(both);
    let source = consul(config(&backend).with_tls(bundle));
    source.fetch(&key()).await.expect("one of two");
}

#[tokio::test]
async fn a_scheme_that_the_server_does_not_speak_is_named() {
    let ca = TestCa::new().expect("a CA");
    let identity = ca.server(&["127.0.0.1"]).expect("a certificate");
    let (plain, tls) = (Backend::start().await, Backend::start_tls(&identity).await);
    let (plain, tls) = (plain.expect("a port"), tls.expect("a port"));
    for (address, expected) in [
        (
            plain.uri().replacen("http:", "https:", 1),
            "speak plain http?",
        ),
        (tls.uri().replacen("https:", "http:", 1), "speak https?"),
    ] {
        let error = consul(at(address)).fetch(&key()).await;
        let error = error.expect_err("another scheme");
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[tokio::test]
async fn texts_that_are_no_certificates_are_refused_at_once() {
    let ca = TestCa::new().expect("a CA");
    let certificate = ca.certificate_pem();
    for tls in [
        ConsulTls::default().with_ca_pem("hunter2"),
        ConsulTls::default().with_ca_pem(""),
        ConsulTls::default()
            .with_ca_pem("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"),
        ConsulTls::default().with_identity_pem("hunter2"),
        ConsulTls::default().with_identity_pem(certificate),
    ] {
        let config = ConsulConfig::new("https://127.0.0.1:1").with_tls(tls);
        let error = ConsulDiscovery::new(config).expect_err("no PEM");
        assert!(!format!("{error} {error:?}").contains("hunter2"));
    }
}

#[tokio::test]
async fn a_client_certificate_is_shown_to_a_server_that_asks() {
    let ca = TestCa::new().expect("a CA");
    let server = ca.server(&["127.0.0.1"]).expect("a certificate");
    let client = ca.server(&["client"]).expect("a certificate");
    let der = |pem: &str| CertificateDer::from_pem_slice(pem.as_bytes()).expect("PEM");
    let mut roots = RootCertStore::empty();
    roots.add(der(ca.certificate_pem())).expect("a root");
    let provider = Arc::new(default_provider());
    let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), Arc::clone(&provider))
        .build()
        .expect("a verifier");
    let key_der = PrivateKeyDer::from_pem_slice(server.key_pem().as_bytes()).expect("PEM");
    let tls = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_client_cert_verifier(verifier)
        .with_single_cert(vec![der(server.certificate_pem())], key_der)
        .expect("a key");
    let acceptor = TlsAcceptor::from(Arc::new(tls));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await;
    let listener = listener.expect("a port");
    let address = listener.local_addr().expect("bound");
    let serving = tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.expect("a client");
            let Ok(mut stream) = acceptor.accept(stream).await else {
                continue;
            };
            let mut head = [0; 4096];
            let _ = stream.read(&mut head).await;
            let body = list(&["a"]);
            let answer = format!(
                "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}",
                body.len()
            );
            let _ = stream.write_all(answer.as_bytes()).await;
            let _ = stream.shutdown().await;
        }
    });
    let trusting = ConsulTls::default().with_ca_pem(ca.certificate_pem());
    let identity = format!("{}{}", client.key_pem(), client.certificate_pem());
    let shown = trusting.clone().with_identity_pem(identity);
    assert!(!format!("{shown:?}").contains("PRIVATE"));
    let uri = format!("https://{address}");
    let update = within(5, consul(at(&uri).with_tls(shown)).fetch(&key())).await;
    assert_eq!(ids(&update.expect("let in")), ["a"]);
    let refused = within(5, consul(at(&uri).with_tls(trusting)).fetch(&key())).await;
    assert_eq!(
        refused.expect_err("kept out").kind(),
        ErrorKind::Unavailable
    );
    serving.abort();
}

use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
};

use ringfence_discovery::BoxFuture;
use serde_json::Value;

use super::{
    Credentials, RegistryServer, http,
    port::Port,
    process::{Server, on_its_process},
};
use crate::{ServerIdentity, TestCa};

/// How an [`Etcd`] is started.
#[derive(Debug, Default)]
pub struct EtcdOptions<'a> {
    tls: Option<(&'a TestCa, &'a ServerIdentity, bool)>,
    arguments: Vec<String>,
}

impl<'a> EtcdOptions<'a> {
    /// Serves https too, at [`Etcd::https_address`]; `client_auth` demands a client certificate of the authority there.
    #[must_use]
    pub fn with_tls(
        mut self,
        ca: &'a TestCa,
        identity: &'a ServerIdentity,
        client_auth: bool,
    ) -> Self {
        self.tls = Some((ca, identity, client_auth));
        self
    }

    /// Adds an argument, such as `--auth-token-ttl=5`.
    #[must_use]
    pub fn with_argument(mut self, argument: impl Into<String>) -> Self {
        self.arguments.push(argument.into());
        self
    }
}

/// One etcd node, which keeps its data over restarts.
#[derive(Debug)]
pub struct Etcd {
    server: Server,
    ports: Ports,
    pub(super) root: Option<Credentials>,
}

/// The ports of one node.
#[derive(Debug)]
pub(super) struct Ports {
    client: Port,
    tls: Port,
    peer: Port,
}

impl Ports {
    pub(super) fn claim() -> io::Result<Self> {
        Ok(Self {
            client: Port::claim()?,
            tls: Port::claim()?,
            peer: Port::claim()?,
        })
    }

    pub(super) fn peer_url(&self) -> String {
        format!("http://127.0.0.1:{}", self.peer.number())
    }
}

impl Etcd {
    /// Starts a single node that asks for no password.
    ///
    /// # Errors
    /// When there is no etcd on this machine, or it does not become ready.
    pub async fn start() -> io::Result<Self> {
        Self::start_with(EtcdOptions::default()).await
    }

    /// Starts a single node with these options.
    ///
    /// # Errors
    /// As for [`start`](Self::start).
    pub async fn start_with(options: EtcdOptions<'_>) -> io::Result<Self> {
        let ports = Ports::claim()?;
        let members = format!("n0={}", ports.peer_url());
        let mut this = Self::prepare("n0", ports, &members, options)?;
        this.launch().await?;
        Ok(this)
    }

    pub(super) fn prepare(
        name: &str,
        ports: Ports,
        members: &str,
        options: EtcdOptions<'_>,
    ) -> io::Result<Self> {
        let mut server = Server::new("etcd")?;
        let client = format!("http://127.0.0.1:{}", ports.client.number());
        let mut listen = client.clone();
        let mut arguments = options.arguments;
        if let Some((ca, identity, client_auth)) = options.tls {
            listen += &format!(",https://127.0.0.1:{}", ports.tls.number());
            let ca = server.file("ca.pem", ca.certificate_pem())?;
            let cert = server.file("cert.pem", identity.certificate_pem())?;
            let key = server.file("key.pem", identity.key_pem())?;
            arguments.extend([
                format!("--cert-file={}", cert.display()),
                format!("--key-file={}", key.display()),
            ]);
            if client_auth {
                arguments.extend([
                    "--client-cert-auth".to_owned(),
                    format!("--trusted-ca-file={}", ca.display()),
                ]);
            }
        }
        arguments.extend([
            format!("--name={name}"),
            format!("--data-dir={}", server.data().display()),
            format!("--listen-client-urls={listen}"),
            format!("--advertise-client-urls={client}"),
            format!("--listen-peer-urls={}", ports.peer_url()),
            format!("--initial-advertise-peer-urls={}", ports.peer_url()),
            format!("--initial-cluster={members}"),
        ]);
        server.arguments(arguments);
        Ok(Self {
            server,
            ports,
            root: None,
        })
    }

    pub(super) fn begin(&mut self) -> io::Result<()> {
        self.server.launch()
    }

    async fn launch(&mut self) -> io::Result<()> {
        self.begin()?;
        self.ready().await
    }

    pub(super) async fn ready(&self) -> io::Result<()> {
        self.server
            .ready(async || {
                let health = http::json(self.address(), "GET", "/health", &[], &Value::Null).await;
                matches!(health, Ok((200, health)) if health["health"] == "true")
            })
            .await
    }

    /// Where it serves plain gRPC.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.ports.client.number()).into()
    }

    /// `http://` and the address.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address())
    }

    /// Where it serves over TLS, if it does.
    #[must_use]
    pub fn https_address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.ports.tls.number()).into()
    }
}

impl RegistryServer for Etcd {
    on_its_process!();

    fn wipe(&mut self) -> BoxFuture<'_, io::Result<()>> {
        Box::pin(async {
            self.server.kill()?;
            self.server.wipe()?;
            self.root = None;
            self.launch().await
        })
    }
}

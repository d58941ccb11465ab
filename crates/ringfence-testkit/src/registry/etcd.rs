use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use nix::sys::signal::Signal;
use ringfence_discovery::BoxFuture;
use serde_json::{Value, json};

use super::{Credentials, RegistryServer, http, port::Port, process::Server};
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
    root: Option<Credentials>,
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

    /// The user who may do everything, after [`enable_auth`](Self::enable_auth). A wipe forgets it.
    #[must_use]
    pub fn root(&self) -> Option<&Credentials> {
        self.root.as_ref()
    }

    /// Makes the user `root` and asks for passwords from now on.
    ///
    /// # Errors
    /// Those of asking etcd.
    pub async fn enable_auth(&mut self) -> io::Result<Credentials> {
        let root = Credentials::new("root");
        self.call(
            "auth/user/add",
            json!({ "name": root.user, "password": root.password }),
        )
        .await?;
        self.call(
            "auth/user/grant",
            json!({ "user": root.user, "role": "root" }),
        )
        .await?;
        self.call("auth/enable", json!({})).await?;
        self.root = Some(root.clone());
        Ok(root)
    }

    /// Makes a user who may read the keys that begin with `prefix`, and write them if `write`.
    ///
    /// # Errors
    /// Those of asking etcd.
    pub async fn user(&self, prefix: &str, write: bool) -> io::Result<Credentials> {
        let user = Credentials::new(&format!("user-{}", super::secret()));
        self.call("auth/role/add", json!({ "name": user.user }))
            .await?;
        let permission = json!({
            "permType": if write { "READWRITE" } else { "READ" },
            "key": BASE64_STANDARD.encode(prefix),
            "range_end": BASE64_STANDARD.encode(after(prefix.as_bytes())),
        });
        self.call(
            "auth/role/grant",
            json!({ "name": user.user, "perm": permission }),
        )
        .await?;
        self.call(
            "auth/user/add",
            json!({ "name": user.user, "password": user.password }),
        )
        .await?;
        self.call(
            "auth/user/grant",
            json!({ "user": user.user, "role": user.user }),
        )
        .await?;
        Ok(user)
    }

    /// Puts a key; the revision after it.
    ///
    /// # Errors
    /// Those of asking etcd.
    pub async fn put(&self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> io::Result<i64> {
        let body = json!({
            "key": BASE64_STANDARD.encode(key),
            "value": BASE64_STANDARD.encode(value),
        });
        revision(&self.call("kv/put", body).await?)
    }

    /// Deletes a key; the revision after it.
    ///
    /// # Errors
    /// Those of asking etcd.
    pub async fn delete(&self, key: impl AsRef<[u8]>) -> io::Result<i64> {
        let body = json!({ "key": BASE64_STANDARD.encode(key) });
        revision(&self.call("kv/deleterange", body).await?)
    }

    /// Deletes the keys that begin with `prefix`, which must not be empty; the revision after it.
    ///
    /// # Errors
    /// Those of asking etcd.
    pub async fn delete_prefix(&self, prefix: impl AsRef<[u8]>) -> io::Result<i64> {
        let body = json!({
            "key": BASE64_STANDARD.encode(&prefix),
            "range_end": BASE64_STANDARD.encode(after(prefix.as_ref())),
        });
        revision(&self.call("kv/deleterange", body).await?)
    }

    /// Asks its JSON API (`/v3/` and `path`), as root if passwords are asked for: the answer.
    ///
    /// # Errors
    /// When it does not answer, or with an error.
    pub async fn call(&self, path: &str, body: Value) -> io::Result<Value> {
        let mut token = None;
        if let Some(root) = &self.root {
            let login = json!({ "name": root.user, "password": root.password });
            let answer =
                http::json(self.address(), "POST", "/v3/auth/authenticate", &[], &login).await?;
            let answer = http::expect_success("login", answer)?;
            token = answer["token"].as_str().map(str::to_owned);
        }
        let headers = token.as_deref().map(|token| ("authorization", token));
        let path = format!("/v3/{path}");
        let answer = http::json(self.address(), "POST", &path, headers.as_slice(), &body).await?;
        http::expect_success(&path, answer)
    }
}

/// The end of the range of keys that begin with `prefix`.
fn after(prefix: &[u8]) -> Vec<u8> {
    let mut end = prefix.to_vec();
    while let Some(last) = end.pop() {
        if let Some(next) = last.checked_add(1) {
            end.push(next);
            return end;
        }
    }
    vec![0]
}

pub(super) fn revision(answer: &Value) -> io::Result<i64> {
    number(&answer["header"]["revision"])
}

/// A 64-bit number, which is a text in etcd's JSON.
pub(super) fn number(value: &Value) -> io::Result<i64> {
    value
        .as_str()
        .and_then(|text| text.parse().ok())
        .or_else(|| value.as_i64())
        .ok_or_else(|| io::Error::other(format!("no number: {value}")))
}

impl RegistryServer for Etcd {
    fn kill(&mut self) -> io::Result<()> {
        self.server.kill()
    }

    fn stop(&mut self) -> io::Result<()> {
        self.server.stop()
    }

    fn pause(&self) -> io::Result<()> {
        self.server.signal(Signal::SIGSTOP)
    }

    fn resume(&self) -> io::Result<()> {
        self.server.signal(Signal::SIGCONT)
    }

    fn restart(&mut self) -> BoxFuture<'_, io::Result<()>> {
        Box::pin(async {
            self.server.kill()?;
            self.launch().await
        })
    }

    fn wipe(&mut self) -> BoxFuture<'_, io::Result<()>> {
        Box::pin(async {
            self.server.kill()?;
            self.server.wipe()?;
            self.root = None;
            self.launch().await
        })
    }

    fn log(&self) -> String {
        self.server.log()
    }
}

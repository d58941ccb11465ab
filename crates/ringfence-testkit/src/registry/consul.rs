use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    path::Path,
};

use ringfence_discovery::BoxFuture;
use serde_json::{Value, json};

use super::{
    RegistryServer, http,
    port::Port,
    process::{Server, on_its_process},
    secret,
};
use crate::{ServerIdentity, TestCa};

/// How a [`Consul`] is started.
#[derive(Debug, Default)]
pub struct ConsulOptions<'a> {
    acl: bool,
    tls: Option<(&'a TestCa, &'a ServerIdentity, bool)>,
    extra: Option<Value>,
}

impl<'a> ConsulOptions<'a> {
    /// Without a token nothing can be read or written.
    #[must_use]
    pub fn with_acl(mut self) -> Self {
        self.acl = true;
        self
    }

    /// Serves https too, at [`Consul::https_address`]; `client_auth` demands a client certificate of the authority there.
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

    /// Settings in the form of Consul's configuration file, which win over those made here.
    #[must_use]
    pub fn with_settings(mut self, settings: Value) -> Self {
        self.extra = Some(settings);
        self
    }
}

/// A Consul agent in server mode, which keeps its data over restarts.
#[derive(Debug)]
pub struct Consul {
    server: Server,
    http: Port,
    https: Port,
    _others: [Port; 2],
    management_token: Option<String>,
}

impl Consul {
    /// Starts one that asks for no token.
    ///
    /// # Errors
    /// When there is no Consul on this machine, or it does not become ready.
    pub async fn start() -> io::Result<Self> {
        Self::start_with(ConsulOptions::default()).await
    }

    /// Starts one with these options.
    ///
    /// # Errors
    /// As for [`start`](Self::start).
    pub async fn start_with(options: ConsulOptions<'_>) -> io::Result<Self> {
        let mut server = Server::new("consul")?;
        let [http, https, serf, rpc] = [
            Port::claim()?,
            Port::claim()?,
            Port::claim()?,
            Port::claim()?,
        ];
        let management_token = options.acl.then(secret);
        let mut settings = json!({
            "server": true, "bootstrap_expect": 1,
            "node_name": "test", "datacenter": "dc1",
            "data_dir": server.data(),
            "bind_addr": "127.0.0.1", "client_addr": "127.0.0.1",
            "ports": {
                "http": http.number(), "https": -1, "serf_lan": serf.number(), "server": rpc.number(),
                "serf_wan": -1, "dns": -1, "grpc": -1,
            },
            // An election in one second instead of five.
            "performance": { "raft_multiplier": 1 },
            "disable_update_check": true,
            "leave_on_terminate": false,
        });
        if let Some(token) = &management_token {
            settings["acl"] = json!({
                "enabled": true, "default_policy": "deny",
                "tokens": { "master": token, "agent": token },
            });
        }
        if let Some((ca, identity, client_auth)) = options.tls {
            settings["ports"]["https"] = https.number().into();
            settings["ca_file"] = text(&server.file("ca.pem", ca.certificate_pem())?);
            settings["cert_file"] = text(&server.file("cert.pem", identity.certificate_pem())?);
            settings["key_file"] = text(&server.file("key.pem", identity.key_pem())?);
            settings["verify_incoming_https"] = client_auth.into();
        }
        let main = server.file("settings.json", &settings.to_string())?;
        let extra = options.extra.unwrap_or_else(|| json!({}));
        let extra = server.file("more.json", &extra.to_string())?;
        server.arguments([
            "agent".into(),
            "-config-file".into(),
            main.into_os_string(),
            "-config-file".into(),
            extra.into_os_string(),
        ]);
        let mut this = Self {
            server,
            http,
            https,
            _others: [serf, rpc],
            management_token,
        };
        this.launch().await?;
        Ok(this)
    }

    async fn launch(&mut self) -> io::Result<()> {
        self.server.launch()?;
        let this = &*self;
        this.server
            .ready(async || {
                // It lists itself once there is a leader and the tokens work.
                let own = this
                    .request("GET", "/v1/health/service/consul?passing=1", Value::Null)
                    .await;
                let led = this.request("GET", "/v1/status/leader", Value::Null).await;
                matches!(own, Ok((200, Value::Array(list))) if !list.is_empty())
                    && matches!(led, Ok((200, Value::String(leader))) if !leader.is_empty())
            })
            .await
    }

    /// Where it serves plain http.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.http.number()).into()
    }

    /// `http://` and the address.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address())
    }

    /// Where it serves https, if it does.
    #[must_use]
    pub fn https_address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.https.number()).into()
    }

    /// The token that may do everything, with [`ConsulOptions::with_acl`]. It survives a wipe.
    #[must_use]
    pub fn management_token(&self) -> Option<&str> {
        self.management_token.as_deref()
    }

    /// Makes a token with a policy in Consul's rule language, such as `service_prefix "" { policy = "read" }`.
    ///
    /// # Errors
    /// Those of asking Consul.
    pub async fn token(&self, rules: &str) -> io::Result<String> {
        let name = format!("policy-{}", secret());
        let policy = json!({ "Name": name, "Rules": rules });
        http::expect_success(
            "policy",
            self.request("PUT", "/v1/acl/policy", policy).await?,
        )?;
        let token = json!({ "Policies": [{ "Name": name }] });
        let token =
            http::expect_success("token", self.request("PUT", "/v1/acl/token", token).await?)?;
        token["SecretID"]
            .as_str()
            .map(str::to_owned)
            .ok_or_else(|| io::Error::other("a token without a secret"))
    }

    /// Makes a token that may read all services and nodes and write nothing.
    ///
    /// # Errors
    /// Those of asking Consul.
    pub async fn read_only_token(&self) -> io::Result<String> {
        self.token(r#"service_prefix "" { policy = "read" } node_prefix "" { policy = "read" }"#)
            .await
    }

    /// Makes a token that may register any service.
    ///
    /// # Errors
    /// Those of asking Consul.
    pub async fn write_token(&self) -> io::Result<String> {
        self.token(r#"service_prefix "" { policy = "write" } node_prefix "" { policy = "read" }"#)
            .await
    }

    /// Asks its HTTP API, with the management token if there is one: status and answer.
    ///
    /// # Errors
    /// When it does not answer.
    pub async fn request(&self, method: &str, path: &str, body: Value) -> io::Result<(u16, Value)> {
        let token = self
            .management_token
            .as_deref()
            .map(|token| ("x-consul-token", token));
        http::json(self.address(), method, path, token.as_slice(), &body).await
    }
}

fn text(path: &Path) -> Value {
    Value::String(path.to_string_lossy().into_owned())
}

impl RegistryServer for Consul {
    on_its_process!();

    fn wipe(&mut self) -> BoxFuture<'_, io::Result<()>> {
        Box::pin(async {
            self.server.kill()?;
            self.server.wipe()?;
            self.launch().await
        })
    }
}

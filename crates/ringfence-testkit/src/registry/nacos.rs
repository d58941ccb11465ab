use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    time::Duration,
};

use bytes::Bytes;
use ringfence_discovery::BoxFuture;
use serde_json::Value;
use tokio::time::{Instant, sleep};

use super::{
    Credentials, RegistryServer, http,
    port::Port,
    process::{Server, on_its_process},
};

/// How a [`Nacos`] is started.
#[derive(Debug, Default)]
pub struct NacosOptions {
    auth: bool,
    variables: Vec<(&'static str, String)>,
}

impl NacosOptions {
    /// Asks for a user and a password.
    #[must_use]
    pub fn with_auth(mut self) -> Self {
        self.auth = true;
        self
    }

    /// Sets a variable of rnacos, such as `RNACOS_API_LOGIN_TIMEOUT` (life of a token, s).
    #[must_use]
    pub fn with_variable(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.variables.push((name, value.into()));
        self
    }
}

/// An rnacos, which speaks Nacos's protocol. Ephemeral instances do not survive a restart, as in Nacos.
#[derive(Debug)]
pub struct Nacos {
    server: Server,
    http: Port,
    _console: Port,
    admin: Option<Credentials>,
}

impl Nacos {
    /// Starts one that asks for no password.
    ///
    /// # Errors
    /// When there is no rnacos on this machine, or it does not become ready.
    pub async fn start() -> io::Result<Self> {
        Self::start_with(NacosOptions::default()).await
    }

    /// Starts one with these options.
    ///
    /// # Errors
    /// As for [`start`](Self::start).
    pub async fn start_with(options: NacosOptions) -> io::Result<Self> {
        let mut server = Server::new("rnacos")?;
        // Clients add 1000 to find the gRPC port.
        let [http, console] = [Port::claim_with(&[1_000])?, Port::claim()?];
        // rnacos wants a plain name.
        let admin = options.auth.then(|| Credentials::new("tester"));
        for (name, value) in [
            ("RNACOS_SDK_HOST", "127.0.0.1".to_owned()),
            ("RNACOS_CONSOLE_HOST", "127.0.0.1".to_owned()),
            ("RNACOS_HTTP_PORT", http.number().to_string()),
            ("RNACOS_GRPC_PORT", (http.number() + 1_000).to_string()),
            ("RNACOS_HTTP_CONSOLE_PORT", console.number().to_string()),
            (
                "RNACOS_RAFT_NODE_ADDR",
                format!("127.0.0.1:{}", http.number() + 1_000),
            ),
            (
                "RNACOS_DATA_DIR",
                server.data().to_string_lossy().into_owned(),
            ),
            (
                "RNACOS_CONFIG_DB_DIR",
                server.data().to_string_lossy().into_owned(),
            ),
        ] {
            server.variable(name, value);
        }
        if let Some(admin) = &admin {
            server.variable("RNACOS_ENABLE_OPEN_API_AUTH", "true");
            server.variable("RNACOS_INIT_ADMIN_USERNAME", &admin.user);
            server.variable("RNACOS_INIT_ADMIN_PASSWORD", &admin.password);
        }
        for (name, value) in options.variables {
            server.variable(name, value);
        }
        let mut this = Self {
            server,
            http,
            _console: console,
            admin,
        };
        this.launch_fresh().await?;
        Ok(this)
    }

    async fn launch(&mut self) -> io::Result<()> {
        self.server.launch()?;
        let this = &*self;
        this.server
            .ready(async || {
                let grpc = tokio::net::TcpStream::connect(this.grpc_address()).await;
                // Whether it lets anybody in is another matter.
                let http = this
                    .form("GET", "/nacos/v1/ns/operator/metrics", Bytes::new())
                    .await;
                grpc.is_ok() && http.is_ok()
            })
            .await
    }

    /// Starts on an empty folder. In about half of such starts rnacos panics inside and is left without its users for ever, and
    /// in some it loses the configurations that it acknowledges, so it is asked to log in and to keep one, and started over on a
    /// fresh folder if it cannot.
    async fn launch_fresh(&mut self) -> io::Result<()> {
        for _ in 0..20 {
            self.launch().await?;
            let end = Instant::now() + Duration::from_secs(4);
            while Instant::now() < end {
                let has_users = self.admin.is_none() || self.access_token().await.is_ok();
                if has_users && self.keeps_configurations().await.unwrap_or(false) {
                    return Ok(());
                }
                if self.server.log().contains("panicked") {
                    break;
                }
                sleep(Duration::from_millis(100)).await;
            }
            self.server.kill()?;
            self.server.wipe()?;
        }
        Err(io::Error::other(
            "rnacos was never whole after 20 fresh starts",
        ))
    }

    /// Whether a configuration can be read that was just written. It is taken away again.
    async fn keeps_configurations(&self) -> io::Result<bool> {
        let (path, form) = ("/nacos/v1/cs/configs", "dataId=launcher&group=launcher");
        self.request("POST", path, &format!("{form}&content=kept"))
            .await?;
        let (_, content) = self.request("GET", path, form).await?;
        self.request("DELETE", path, form).await?;
        Ok(content == "kept")
    }

    /// Where it serves http.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.http.number()).into()
    }

    /// Where it serves gRPC: 1000 above.
    #[must_use]
    pub fn grpc_address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.http.number() + 1_000).into()
    }

    /// The user who may do everything, with [`NacosOptions::with_auth`]. It survives a wipe.
    #[must_use]
    pub fn admin(&self) -> Option<&Credentials> {
        self.admin.as_ref()
    }

    /// Logs the admin in.
    ///
    /// # Errors
    /// When rnacos does not answer or refuses.
    pub async fn access_token(&self) -> io::Result<String> {
        let Some(admin) = &self.admin else {
            return Err(io::Error::other("started without auth"));
        };
        let form = format!("username={}&password={}", admin.user, admin.password);
        let answer = self.form("POST", "/nacos/v1/auth/login", form).await?;
        let answer = http::expect_success("login", answer)?;
        answer["accessToken"]
            .as_str()
            .map(str::to_owned)
            .ok_or_else(|| io::Error::other("a login without a token"))
    }

    /// Asks its HTTP API with a form (`a=1&b=2`, values percent-encoded by the caller), logged in as admin if there is one:
    /// status and answer.
    ///
    /// # Errors
    /// When it does not answer.
    pub async fn request(&self, method: &str, path: &str, form: &str) -> io::Result<(u16, Value)> {
        let mut form = form.to_owned();
        if self.admin.is_some() {
            let token = self.access_token().await?;
            form = if form.is_empty() {
                format!("accessToken={token}")
            } else {
                format!("{form}&accessToken={token}")
            };
        }
        if method == "GET" || method == "DELETE" {
            return self
                .form(method, &format!("{path}?{form}"), Bytes::new())
                .await;
        }
        self.form(method, path, form).await
    }

    async fn form(
        &self,
        method: &str,
        path: &str,
        form: impl Into<Bytes>,
    ) -> io::Result<(u16, Value)> {
        let headers = [("content-type", "application/x-www-form-urlencoded")];
        let (status, body) = http::call(self.address(), method, path, &headers, form).await?;
        Ok((status, http::parse(&body)))
    }
}

impl RegistryServer for Nacos {
    on_its_process!();

    fn wipe(&mut self) -> BoxFuture<'_, io::Result<()>> {
        Box::pin(async {
            self.server.kill()?;
            self.server.wipe()?;
            self.launch_fresh().await
        })
    }
}

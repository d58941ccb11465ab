//! No password and no token in any log line, at the most talkative level of all crates involved, nor in what is shown.

use std::{
    io::{self, Write},
    sync::{Arc, Mutex},
    time::Duration,
};

use ringfence_discovery::Discovery as _;
use ringfence_nacos::{NacosConfig, NacosDiscovery, NacosLogin};
use ringfence_testkit::registry::{NacosOptions, secret};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, copy},
    net::{TcpListener, TcpStream},
};
use tracing_subscriber::fmt::{MakeWriter, format::FmtSpan};

use super::support::*;

const SOON: Duration = Duration::from_secs(5);

/// Everything that is logged in this process, by whichever way.
#[derive(Clone, Default)]
struct Captured(Arc<Mutex<Vec<u8>>>);

impl Captured {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().expect("no panic")).into_owned()
    }
}

impl Write for Captured {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no panic").extend_from_slice(line);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Captured {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

impl log::Log for Captured {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        let line = format!("log {} {}\n", record.target(), record.args());
        self.0
            .lock()
            .expect("no panic")
            .extend_from_slice(line.as_bytes());
    }

    fn flush(&self) {}
}

/// Stands before the server's HTTP interface and keeps what it answers: the token is in there.
async fn spy(server: std::net::SocketAddr) -> (std::net::SocketAddr, Captured) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("bound");
    let heard = Captured::default();
    let answers = heard.clone();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let mut answers = answers.clone();
            tokio::spawn(async move {
                let server = TcpStream::connect(server).await.expect("it listens");
                let (mut from_client, mut to_client) = client.into_split();
                let (mut from_server, mut to_server) = server.into_split();
                let asking = async { copy(&mut from_client, &mut to_server).await };
                let answering = async {
                    let mut chunk = [0; 4096];
                    while let Ok(n @ 1..) = from_server.read(&mut chunk).await {
                        answers.write_all(&chunk[..n]).expect("memory");
                        if to_client.write_all(&chunk[..n]).await.is_err() {
                            return;
                        }
                    }
                };
                // The end of either side is the end of both.
                tokio::select! {
                    _ = asking => {}
                    () = answering => {}
                }
            });
        }
    });
    (address, heard)
}

#[tokio::test]
async fn no_password_and_no_token_is_in_any_log() {
    let captured = Captured::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_span_events(FmtSpan::FULL)
        .with_writer(captured.clone())
        .finish();
    tracing::subscriber::set_global_default(subscriber)
        .expect("a process of its own, as nextest gives");
    log::set_logger(Box::leak(Box::new(captured.clone()))).expect("the first");
    log::set_max_level(log::LevelFilter::Trace);

    let nacos = server_with(NacosOptions::default().with_auth()).await;
    put(&nacos, 1, "").await;
    let admin = nacos.admin().expect("with auth").clone();
    let (right, wrong) = (admin.password.clone(), secret());
    let (http, heard) = spy(nacos.address()).await;
    let config = |password: &str| {
        let config = NacosConfig::new([http.to_string()])
            .and_then(|config| config.with_grpc_port(nacos.grpc_address().port()));
        let login = NacosLogin::new(admin.user.as_str(), password);
        config.expect("legal").with_login(login)
    };
    let source = NacosDiscovery::new(config(&right));
    Seen::watch(&source).until_shape(SOON, [(1, 100)]).await;
    let refused = NacosDiscovery::new(config(&wrong));
    let error = refused.fetch(&order()).await.expect_err("refused");
    let nowhere = NacosConfig::new(["127.0.0.1:1"]).expect("legal");
    let login = NacosLogin::new(admin.user.as_str(), right.as_str());
    let nowhere = NacosDiscovery::new(nowhere.with_login(login));
    let away = nowhere.fetch(&order()).await.expect_err("nobody there");
    let mut shown = format!("{source:?} {refused:?} {error:?} {error} {away:?} {away}");
    for error in [&error, &away] {
        let mut cause = std::error::Error::source(error);
        while let Some(deeper) = cause {
            shown.push_str(&format!("{deeper} {deeper:?}"));
            cause = deeper.source();
        }
    }
    #[cfg(feature = "register")]
    shown.push_str(&registering(config(&right), config(&wrong)).await);

    let heard = heard.text();
    let token = heard.split("\"accessToken\":\"").nth(1);
    let token = token.and_then(|rest| rest.split('"').next());
    let token = token.expect("the server granted one");
    assert!(token.len() > 8, "{token}");
    let log = captured.text();
    for source in ["nacos_sdk", "hyper", "h2", "log reqwest", "ringfence_nacos"] {
        assert!(log.contains(source), "nothing of {source} was captured");
    }
    for secret in [right.as_str(), &wrong, token] {
        for text in [&log, &shown] {
            let leak = text.lines().find(|line| line.contains(secret));
            assert_eq!(leak, None);
        }
    }
}

/// Registers with good and bad credentials; returns all that is shown of it.
#[cfg(feature = "register")]
async fn registering(good: NacosConfig, bad: NacosConfig) -> String {
    use ringfence_core::Instance;
    use ringfence_discovery::Registrar as _;
    use ringfence_nacos::NacosRegistrar;

    let instance = Instance::builder("a", "10.0.0.7:7").build().expect("legal");
    let registrar = NacosRegistrar::new(good);
    let registered = registrar.register(&order(), instance.clone()).await;
    let mut shown = format!("{registrar:?} {registered:?}");
    let registration = registered.expect("registered");
    shown.push_str(&format!("{:?}", registration.drain().await));
    registration.deregister().await.expect("gone");
    let registrar = NacosRegistrar::new(bad);
    let refused = registrar.register(&order(), instance).await;
    let error = refused.expect_err("refused");
    shown.push_str(&format!("{registrar:?} {error} {error:?}"));
    shown
}

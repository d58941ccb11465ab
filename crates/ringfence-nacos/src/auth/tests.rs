use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::join_all;
use ringfence_discovery::ErrorKind;
use ringfence_testkit::Warnings;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};

use super::*;

const PASSWORD: &str = "hunter&2 =%ü";

/// A server that answers every login alike, and keeps what it was sent.
struct Server {
    address: String,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Server {
    async fn start(answer: impl Fn(&str) -> (u16, String) + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("bound").to_string();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let requests = seen.clone();
        tokio::spawn(async move {
            while let Ok((mut socket, _)) = listener.accept().await {
                let mut request = Vec::new();
                while !is_whole(&request) {
                    let mut chunk = [0; 4096];
                    match socket.read(&mut chunk).await {
                        Ok(0) | Err(_) => break,
                        Ok(n) => request.extend_from_slice(&chunk[..n]),
                    }
                }
                let request = String::from_utf8_lossy(&request).into_owned();
                let (status, body) = answer(&request);
                requests.lock().expect("no panic").push(request);
                let response = format!(
                    "HTTP/1.1 {status} X\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: {}\r\n\r\n{body}",
                    body.len()
                );
                // A client that hung up has what it wanted.
                let _ = socket.write_all(response.as_bytes()).await;
            }
        });
        Self { address, seen }
    }

    fn seen(&self) -> Vec<String> {
        self.seen.lock().expect("no panic").clone()
    }
}

fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request);
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    let length = head.lines().find_map(|line| {
        line.to_ascii_lowercase()
            .strip_prefix("content-length: ")?
            .parse()
            .ok()
    });
    body.len() >= length.unwrap_or(0)
}

fn auth(servers: &[&str], login: NacosLogin) -> Auth {
    let config = NacosConfig::new(servers)
        .expect("legal")
        .with_read_timeout(Duration::from_secs(1))
        .expect("legal");
    Auth::new(login, &config)
}

fn login() -> NacosLogin {
    NacosLogin::new("reader", PASSWORD)
}

fn token(auth: &Auth) -> Option<String> {
    auth.current().map(|token| token.value.to_string())
}

fn grant(ttl: u64) -> (u16, String) {
    (200, format!(r#"{{"accessToken":"tok","tokenTtl":{ttl}}}"#))
}

#[tokio::test]
async fn the_password_goes_into_the_body_and_one_login_serves_all() {
    let server = Server::start(|_| grant(18_000)).await;
    let auth = auth(&[&server.address], login());
    let all = join_all((0..10).map(|_| auth.ensure())).await;
    assert!(all.iter().all(Result::is_ok));
    assert_eq!(token(&auth).as_deref(), Some("tok"));
    let seen = server.seen();
    assert_eq!(seen.len(), 1, "{seen:?}");
    let first = seen[0].lines().next().expect("a request line");
    assert_eq!(first, "POST /nacos/v1/auth/login HTTP/1.1");
    let body = seen[0].split_once("\r\n\r\n").expect("a body").1;
    assert_eq!(body, "username=reader&password=hunter%262+%3D%25%C3%BC");
}

#[tokio::test]
async fn a_token_is_renewed_before_it_expires_however_short_its_life() {
    let logins = Arc::new(AtomicUsize::new(0));
    let count = logins.clone();
    let server = Server::start(move |_| {
        count.fetch_add(1, Ordering::SeqCst);
        grant(1)
    })
    .await;
    let auth = auth(&[&server.address], login());
    let end = Instant::now() + Duration::from_millis(2_500);
    while Instant::now() < end {
        auth.ensure().await.expect("a token");
        let token = auth.current().expect("a token");
        assert!(Instant::now() < token.expires_at);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let logins = logins.load(Ordering::SeqCst);
    assert!((3..=8).contains(&logins), "{logins}");
}

#[tokio::test]
async fn a_refusal_is_told_from_an_outage_and_not_repeated_in_a_loop() {
    let server = Server::start(|_| (403, "unknown user!".to_owned())).await;
    let auth = auth(&[&server.address], login());
    for _ in 0..20 {
        let failure = auth.ensure().await.expect_err("refused");
        assert_eq!(failure.kind(), ErrorKind::Unauthorized);
    }
    assert_eq!(server.seen().len(), 1);

    let nobody = self::auth(&["127.0.0.1:1"], login());
    let failure = nobody.ensure().await.expect_err("nobody there");
    assert_eq!(failure.kind(), ErrorKind::Unavailable);
}

#[tokio::test]
async fn a_login_that_keeps_failing_is_told_once_for_each_reason() {
    let warnings = Warnings::capture();
    let tries = AtomicUsize::new(0);
    let server = Server::start(move |_| match tries.fetch_add(1, Ordering::SeqCst) {
        0 | 1 | 5 => (403, "unknown user!".to_owned()),
        2 | 3 => (500, String::new()),
        _ => grant(1),
    })
    .await;
    let auth = auth(&[&server.address], login());
    let mut told = Vec::new();
    for _ in 0..6 {
        // It may have a token from before that is good for some time yet.
        let _ = auth.ensure().await;
        told.push(warnings.take().len());
        tokio::time::sleep(LEAST_PAUSE).await;
    }
    assert_eq!(server.seen().len(), 6);
    assert_eq!(told, [1, 0, 1, 0, 0, 1]);
}

#[tokio::test]
async fn the_next_server_and_the_newer_path_are_tried() {
    let server = Server::start(|request| {
        if request.starts_with("POST /nacos/v3/auth/user/login") {
            grant(60)
        } else {
            (404, String::new())
        }
    })
    .await;
    for _ in 0..4 {
        let auth = auth(&["127.0.0.1:1", &server.address], login());
        auth.ensure().await.expect("one of them works");
    }
}

#[tokio::test]
async fn a_password_follows_no_redirect() {
    let other = Server::start(|_| grant(60)).await;
    let server = Server::start(|_| (307, String::new())).await;
    let auth = auth(&[&server.address], login());
    assert!(auth.ensure().await.is_err());
    assert!(other.seen().is_empty());
}

#[tokio::test]
async fn user_and_password_are_asked_for_at_each_login() {
    let server = Server::start(|_| grant(1)).await;
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    let login = NacosLogin::from_fn(move || match count.fetch_add(1, Ordering::SeqCst) {
        0 => Err("the vault is sealed: hunter2".into()),
        n => Ok(("reader".to_owned(), format!("p{n}"))),
    });
    let auth = auth(&[&server.address], login);
    let failure = auth.ensure().await.expect_err("sealed");
    assert_eq!(failure.kind(), ErrorKind::Config);
    assert!(!format!("{}", failure.into_error()).contains("hunter2"));
    for n in 1..=2 {
        tokio::time::sleep(LEAST_PAUSE).await;
        auth.ensure().await.expect("open");
        assert!(server.seen()[n - 1].contains(&format!("password=p{n}")));
    }
}

#[tokio::test]
async fn a_doubted_token_is_renewed_and_kept_if_that_fails() {
    let server = Server::start(|_| grant(60)).await;
    let auth = auth(&[&server.address], login());
    auth.ensure().await.expect("a token");
    auth.doubt();
    auth.ensure().await.expect("a token");
    assert_eq!(server.seen().len(), 1, "brand new, not its fault");
    tokio::time::sleep(LEAST_PAUSE).await;
    auth.doubt();
    auth.ensure().await.expect("a token");
    assert_eq!(server.seen().len(), 2);
}

//! On a port of its own.

use std::{net::SocketAddr, time::Duration};

use ringfence_admin::{Admin, AdminServer, ServeError};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::{Instant, timeout},
};

use crate::support::plain;

const LOOPBACK: &str = "127.0.0.1:0";

fn address(text: &str) -> SocketAddr {
    text.parse().expect("legal")
}

async fn serve() -> (ringfence_balancer::Balancer, AdminServer) {
    let (_registry, balancer) = plain(2).await;
    let server = Admin::new()
        .with_balancer(&balancer)
        .serve(address(LOOPBACK))
        .await
        .expect("a port");
    (balancer, server)
}

/// The first line of the answer to a request with this `Host`.
async fn status_line(of: &AdminServer, host: &str) -> String {
    let mut stream = TcpStream::connect(of.local_addr())
        .await
        .expect("it listens");
    let request = format!("GET /healthz HTTP/1.1\r\n{host}Connection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("an answer");
    answer.lines().next().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn other_machines_are_let_in_only_where_that_is_wanted() {
    let (_registry, balancer) = plain(1).await;
    for remote in ["0.0.0.0:0", "[::]:0", "10.0.0.1:0"] {
        let refused = Admin::new()
            .with_balancer(&balancer)
            .serve(address(remote))
            .await;
        assert!(
            matches!(refused, Err(ServeError::Remote(_))),
            "{remote}: {refused:?}"
        );
    }
    let allowed = Admin::new()
        .with_balancer(&balancer)
        .allow_remote()
        .serve(address("0.0.0.0:0"))
        .await;
    let server = allowed.expect("it was allowed");
    let local =
        TcpStream::connect((std::net::Ipv4Addr::LOCALHOST, server.local_addr().port())).await;
    local.expect("it listens");
}

#[tokio::test]
async fn a_port_that_is_taken_is_told() {
    let (_balancer, server) = serve().await;
    let taken = Admin::new().serve(server.local_addr()).await;
    let error = taken.expect_err("it is taken");
    assert!(
        matches!(&error, ServeError::Listen { address, .. } if *address == server.local_addr()),
        "{error}"
    );
}

/// DNS rebinding: a foreign site that lets its name lead here has that name in the header.
#[tokio::test]
async fn foreign_names_get_nothing() {
    let (balancer, server) = serve().await;
    let port = server.local_addr().port();
    for host in [
        format!("Host: localhost:{port}\r\n"),
        format!("Host: 127.0.0.1:{port}\r\n"),
        "Host: [::1]\r\n".to_owned(),
    ] {
        assert_eq!(
            status_line(&server, &host).await,
            "HTTP/1.1 200 OK",
            "{host}"
        );
    }
    for host in [
        "Host: evil.example\r\n",
        "Host: localhost.evil.example\r\n",
        "",
    ] {
        let line = status_line(&server, host).await;
        assert_eq!(line, "HTTP/1.1 403 Forbidden", "{host}");
    }
    let open = Admin::new()
        .with_balancer(&balancer)
        .allow_remote()
        .serve(address(LOOPBACK))
        .await
        .expect("a port");
    assert_eq!(
        status_line(&open, "Host: ops.example\r\n").await,
        "HTTP/1.1 200 OK"
    );
}

#[tokio::test]
async fn it_ends_with_its_handle() {
    let (_balancer, server) = serve().await;
    let address = server.local_addr();
    let mut open = TcpStream::connect(address).await.expect("it listens");
    open.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .await
        .expect("sent");
    let mut some = [0; 8];
    open.read_exact(&mut some).await.expect("an answer");
    drop(server);
    // The open connection ends, and there is nobody to listen.
    let mut rest = Vec::new();
    let ended = timeout(Duration::from_secs(10), open.read_to_end(&mut rest)).await;
    ended.expect("the connection ended").ok();
    for _ in 0..500 {
        if TcpStream::connect(address).await.is_err() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("it still listens");
}

#[tokio::test(start_paused = true)]
async fn who_sends_nothing_is_sent_away() {
    let (_balancer, server) = serve().await;
    let started = Instant::now();
    let mut silent = TcpStream::connect(server.local_addr())
        .await
        .expect("it listens");
    let mut slow = TcpStream::connect(server.local_addr())
        .await
        .expect("it listens");
    slow.write_all(b"GET / HTTP/1.1\r\nHost: loc")
        .await
        .expect("sent");
    let mut idle = TcpStream::connect(server.local_addr())
        .await
        .expect("it listens");
    idle.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .await
        .expect("sent");
    for stream in [&mut silent, &mut slow, &mut idle] {
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).await.ok();
    }
    let took = started.elapsed();
    assert!(
        took >= Duration::from_secs(9) && took < Duration::from_secs(30),
        "{took:?}"
    );
}

#[tokio::test]
async fn only_so_many_are_served_at_a_time() {
    let (_balancer, server) = serve().await;
    let mut held = Vec::new();
    for _ in 0..64 {
        let mut stream = TcpStream::connect(server.local_addr())
            .await
            .expect("it listens");
        // Half a request, so that each waits for the rest.
        stream
            .write_all(b"GET /healthz HTTP/1.1\r\nHost: loc")
            .await
            .expect("sent");
        held.push(stream);
    }
    let mut further = TcpStream::connect(server.local_addr())
        .await
        .expect("the system takes it");
    further
        .write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .await
        .expect("sent");
    let mut some = [0; 8];
    let waited = timeout(Duration::from_millis(300), further.read_exact(&mut some)).await;
    assert!(waited.is_err(), "it is not served yet");
    // One goes, and the next is served.
    held.pop();
    let served = timeout(Duration::from_secs(10), further.read_exact(&mut some)).await;
    served.expect("in time").expect("an answer");
}

/// Clients that keep their connections, such as browsers, must not shut out who asks whether the program is well.
#[tokio::test]
async fn connections_that_are_kept_shut_nobody_out() {
    let (_balancer, server) = serve().await;
    let mut kept = Vec::new();
    for _ in 0..64 {
        let mut stream = TcpStream::connect(server.local_addr())
            .await
            .expect("it listens");
        let request = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
        stream.write_all(request).await.expect("sent");
        let mut some = [0; 8];
        let answered = timeout(Duration::from_secs(5), stream.read_exact(&mut some)).await;
        answered.expect("in time").expect("an answer");
        kept.push(stream);
    }
    let asked = status_line(&server, "Host: localhost\r\n");
    let answered = timeout(Duration::from_secs(5), asked).await;
    assert_eq!(answered.expect("in time"), "HTTP/1.1 200 OK");
    // The first ones are kept all the same.
    let first = kept.first_mut().expect("one");
    let again = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    first.write_all(again).await.expect("it is open");
    let mut rest = String::new();
    first.read_to_string(&mut rest).await.expect("an answer");
    assert!(rest.contains("HTTP/1.1 200 OK"), "{rest}");
}

#[tokio::test(start_paused = true)]
async fn who_does_not_read_an_answer_is_sent_away() {
    const LENGTH: usize = 64 << 20;
    let server = Admin::new()
        .with_metrics(|| "x".repeat(LENGTH))
        .serve(address(LOOPBACK))
        .await
        .expect("a port");
    let mut stream = TcpStream::connect(server.local_addr())
        .await
        .expect("it listens");
    stream
        .write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        .await
        .expect("sent");
    let mut some = [0; 8];
    stream.read_exact(&mut some).await.expect("it begins");
    tokio::time::sleep(Duration::from_secs(20)).await;
    // What the system holds is still there.
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).await.ok();
    assert!(rest.len() < LENGTH, "{}", rest.len());
}

#[tokio::test]
async fn a_head_that_is_too_large_ends_the_connection() {
    let (_balancer, server) = serve().await;
    let mut stream = TcpStream::connect(server.local_addr())
        .await
        .expect("it listens");
    let request = format!(
        "GET /explain?key={} HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "x".repeat(100_000)
    );
    let _ = stream.write_all(request.as_bytes()).await;
    let mut answer = Vec::new();
    let _ = timeout(Duration::from_secs(10), stream.read_to_end(&mut answer))
        .await
        .expect("it ends");
    let answer = String::from_utf8_lossy(&answer);
    assert!(
        answer.is_empty() || answer.starts_with("HTTP/1.1 4"),
        "{answer}"
    );
}

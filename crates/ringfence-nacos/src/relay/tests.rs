use nacos_sdk::api::error::Error as SdkError;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::{Instant, sleep, timeout},
};

use super::*;
use crate::{NacosConfig, sdk::Connection};

/// A server that answers each connection with its name, and then repeats what it is sent.
async fn echo(listener: TcpListener, name: u8) {
    while let Ok((mut socket, _)) = listener.accept().await {
        tokio::spawn(async move {
            let mut chunk = [0; 1024];
            // It speaks when spoken to, so that what was said early is surely passed on.
            while let Ok(n @ 1..) = socket.read(&mut chunk).await {
                let mut answer = vec![name];
                answer.extend_from_slice(&chunk[..n]);
                if socket.write_all(&answer).await.is_err() {
                    return;
                }
            }
        });
    }
}

async fn bound() -> (TcpListener, (String, u16)) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("bound").port();
    (listener, ("127.0.0.1".to_owned(), port))
}

async fn say(relay: &Relay, text: &str) -> TcpStream {
    let mut library = TcpStream::connect(relay.address())
        .await
        .expect("it always accepts");
    library.write_all(text.as_bytes()).await.expect("open");
    library
}

async fn hear(library: &mut TcpStream, expected: &str) {
    let mut heard = vec![0; expected.len()];
    let reading = timeout(Duration::from_secs(10), library.read_exact(&mut heard));
    reading.await.expect("in time").expect("open");
    assert_eq!(String::from_utf8_lossy(&heard), expected);
}

#[tokio::test]
async fn a_server_that_comes_later_is_reached_soon_with_all_that_was_said() {
    let (listener, at) = bound().await;
    drop(listener);
    let relay = Relay::open(vec![at.clone()]).expect("open");
    let mut library = say(&relay, "hel").await;
    sleep(Duration::from_millis(500)).await;
    library.write_all(b"lo").await.expect("open");
    sleep(Duration::from_millis(1_500)).await;
    let listener = TcpListener::bind((at.0.as_str(), at.1))
        .await
        .expect("still free");
    let began = Instant::now();
    tokio::spawn(echo(listener, b'1'));
    hear(&mut library, "1hello").await;
    assert!(
        began.elapsed() < Duration::from_secs(1),
        "{:?}",
        began.elapsed()
    );
    library.write_all(b"more").await.expect("open");
    hear(&mut library, "1more").await;
}

#[tokio::test]
async fn dead_and_hung_servers_are_passed_over() {
    let (dead, dead_at) = bound().await;
    drop(dead);
    // Its connections are accepted by the system and never read.
    let (_hung, hung_at) = bound().await;
    let (alive, alive_at) = bound().await;
    tokio::spawn(echo(alive, b'a'));
    let relay = Relay::open(vec![dead_at, hung_at, alive_at]).expect("open");
    for _ in 0..3 {
        let mut library = say(&relay, "x").await;
        hear(&mut library, "ax").await;
    }
}

#[tokio::test]
async fn the_end_of_one_side_is_the_end_of_the_other() {
    let (listener, at) = bound().await;
    let relay = Relay::open(vec![at]).expect("open");
    let mut library = say(&relay, "x").await;
    let (mut server, _) = listener.accept().await.expect("it connects");
    server.write_all(b"y").await.expect("open");
    hear(&mut library, "y").await;
    drop(server);
    let mut rest = [0; 8];
    let end = timeout(Duration::from_secs(5), library.read(&mut rest));
    assert!(matches!(end.await.expect("in time"), Ok(0) | Err(_)));

    let library = say(&relay, "x").await;
    let (mut server, _) = listener.accept().await.expect("it connects");
    server.write_all(b"y").await.expect("open");
    drop(library);
    let end = timeout(Duration::from_secs(5), async {
        while let Ok(1..) = server.read(&mut [0; 8]).await {}
    });
    end.await.expect("in time");
}

#[tokio::test]
async fn connections_that_were_given_up_make_room() {
    let (listener, at) = bound().await;
    drop(listener);
    let relay = Relay::open(vec![at.clone()]).expect("open");
    for _ in 0..3 * MOST {
        drop(say(&relay, "x").await);
    }
    let mut library = say(&relay, "x").await;
    let listener = TcpListener::bind((at.0.as_str(), at.1))
        .await
        .expect("still free");
    tokio::spawn(echo(listener, b'1'));
    hear(&mut library, "1x").await;
}

#[tokio::test]
async fn one_who_says_too_much_too_early_is_cut_off() {
    let (listener, at) = bound().await;
    drop(listener);
    let relay = Relay::open(vec![at]).expect("open");
    let mut library = say(&relay, "x").await;
    let flood = async {
        let chunk = [0; 4096];
        while library.write_all(&chunk).await.is_ok() {}
    };
    timeout(Duration::from_secs(10), flood)
        .await
        .expect("cut off");
}

#[tokio::test]
async fn a_reset_cuts_what_is_open_and_nothing_else() {
    let (listener, at) = bound().await;
    tokio::spawn(echo(listener, b'1'));
    let relay = Relay::open(vec![at]).expect("open");
    let mut library = say(&relay, "x").await;
    hear(&mut library, "1x").await;
    relay.reset();
    let mut rest = [0; 8];
    let end = timeout(Duration::from_secs(5), library.read(&mut rest));
    assert!(matches!(end.await.expect("in time"), Ok(0) | Err(_)));
    let mut library = say(&relay, "y").await;
    hear(&mut library, "1y").await;
}

/// B33: the server has forgotten a connection that is open. The library would go on with it for ever.
#[tokio::test]
async fn a_connection_that_the_server_forgot_is_cut_so_that_the_library_makes_another() {
    let (listener, (host, port)) = bound().await;
    tokio::spawn(echo(listener, b'1'));
    let config = NacosConfig::new([format!("{host}:{}", port.max(1_001) - 1_000)])
        .and_then(|config| config.with_grpc_port(port))
        .expect("legal");
    let connection = Connection::new(&config);
    let relay = connection.relay().expect("a port");
    // In the library's place, which leaves a server that says nothing it understands of itself.
    let mut library = say(relay, "x").await;
    hear(&mut library, "1x").await;
    let said = |code| SdkError::ErrResponse(None, 500, code, Some("as told".into()));
    connection.judge(said(500));
    library.write_all(b"y").await.expect("open");
    hear(&mut library, "1y").await;
    connection.judge(said(301));
    let mut rest = [0; 8];
    let end = timeout(Duration::from_secs(5), library.read(&mut rest));
    assert!(matches!(end.await.expect("cut"), Ok(0) | Err(_)));
}

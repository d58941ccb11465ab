use std::{io, time::Duration};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{
        TcpStream,
        tcp::{ReadHalf, WriteHalf},
    },
    time::{Instant, sleep, sleep_until, timeout},
};

use super::Servers;

const CONNECT_LIMIT: Duration = Duration::from_secs(1);
/// How long a server may be silent at first. HTTP/2 has it speak at once.
const FIRST_WORD_LIMIT: Duration = Duration::from_secs(2);
/// Pause after all servers were tried.
const PAUSE: Duration = Duration::from_millis(200);
/// What the library says before a server answers: some requests, which stay small.
const MOST_EARLY: usize = 256 * 1024;
const CHUNK: usize = 16 * 1024;

/// Tells of the end of a connection, also if that is cut.
struct Ended<'a>(&'a Servers);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.links.send_modify(|links| *links += 1);
    }
}

/// The library hung up, or said too much too early.
struct Gone;

/// Carries one connection of the library to the first server that answers, until either end closes it.
pub(super) async fn carry(mut library: TcpStream, servers: &Servers) {
    // Neither is needed for anything but speed.
    let _ = library.set_nodelay(true);
    let Ok(mut server) = find(&mut library, servers).await else {
        return;
    };
    servers.links.send_modify(|links| *links += 1);
    // It connects anew when it is asked for something, and on its own some seconds later.
    let _ended = Ended(servers);
    let (from_library, to_library) = library.split();
    let (from_server, to_server) = server.split();
    tokio::select! {
        // The end of one direction is the end of both: neither side of gRPC half-closes a connection.
        _ = pass(from_library, to_server) => {}
        _ = pass(from_server, to_library) => {}
    }
}

/// Tries one server after the other, for as long as the library waits.
async fn find(library: &mut TcpStream, servers: &Servers) -> Result<TcpStream, Gone> {
    let mut early = Vec::new();
    loop {
        for _ in 0..servers.len().max(1) {
            let Some(at) = servers.next() else {
                return Err(Gone);
            };
            let connecting = timeout(CONNECT_LIMIT, TcpStream::connect(at));
            let Ok(Ok(mut server)) = listening(library, &mut early, connecting).await? else {
                continue;
            };
            let _ = server.set_nodelay(true);
            if let Ok(first) = first_word(library, &mut server, &mut early).await? {
                library.write_all(&first).await.map_err(|_| Gone)?;
                return Ok(server);
            }
        }
        let pause = sleep(PAUSE.mul_f64(0.5 + fastrand::f64()));
        listening(library, &mut early, pause).await?;
    }
}

/// Waits for `what`, keeping what the library says meanwhile.
async fn listening<T>(
    library: &mut TcpStream,
    early: &mut Vec<u8>,
    what: impl Future<Output = T>,
) -> Result<T, Gone> {
    let mut what = std::pin::pin!(what);
    loop {
        tokio::select! {
            outcome = &mut what => return Ok(outcome),
            heard = hear(library, early) => heard?,
        };
    }
}

/// Tells a server all that the library has said so far and says until it answers. Inside `Ok`: the answer, or why there is none.
async fn first_word(
    library: &mut TcpStream,
    server: &mut TcpStream,
    early: &mut Vec<u8>,
) -> Result<io::Result<Vec<u8>>, Gone> {
    let deadline = Instant::now() + FIRST_WORD_LIMIT;
    let mut told = 0;
    let mut answer = vec![0; CHUNK];
    loop {
        let rest = early.get(told..).unwrap_or_default();
        if let Err(error) = server.write_all(rest).await {
            return Ok(Err(error));
        }
        told = early.len();
        tokio::select! {
            read = server.read(&mut answer) => {
                return Ok(match read {
                    Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
                    Ok(n) => {
                        answer.truncate(n);
                        Ok(answer)
                    }
                    Err(error) => Err(error),
                });
            }
            heard = hear(library, early) => { heard?; }
            () = sleep_until(deadline) => return Ok(Err(io::ErrorKind::TimedOut.into())),
        }
    }
}

async fn hear(library: &mut TcpStream, early: &mut Vec<u8>) -> Result<(), Gone> {
    // Cancel safe: what is read is kept before anything else is awaited.
    match library.read_buf(early).await {
        Ok(0) | Err(_) => Err(Gone),
        Ok(_) if early.len() > MOST_EARLY => Err(Gone),
        Ok(_) => {
            acknowledge(library);
            Ok(())
        }
    }
}

async fn pass(mut from: ReadHalf<'_>, mut to: WriteHalf<'_>) -> io::Result<()> {
    let mut chunk = vec![0; CHUNK];
    loop {
        let n = from.read(&mut chunk).await?;
        if n == 0 {
            return Ok(());
        }
        acknowledge(from.as_ref());
        to.write_all(chunk.get(..n).unwrap_or_default()).await?;
    }
}

/// The library sends its small packets only once the last was acknowledged, which the system puts off by 40 ms unless told
/// otherwise each time.
fn acknowledge(socket: &TcpStream) {
    #[cfg(target_os = "linux")]
    let _ = socket2::SockRef::from(socket).set_tcp_quickack(true);
    #[cfg(not(target_os = "linux"))]
    let _ = socket;
}

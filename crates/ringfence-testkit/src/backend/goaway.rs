use std::io;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// Length of the client's connection preface.
const PREFACE: usize = 24;

const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const ACK: u8 = 1;

const OUR_SETTINGS: [u8; 9] = [0, 0, 0, SETTINGS, 0, 0, 0, 0, 0];
const SETTINGS_ACK: [u8; 9] = [0, 0, 0, SETTINGS, ACK, 0, 0, 0, 0];
/// GOAWAY on stream 0: the last stream processed is 0, so none was; the error is NO_ERROR.
const GOAWAY: [u8; 17] = [0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

/// Reads an HTTP/2 connection up to its first request, says GOAWAY and waits for the client to close.
///
/// The frames are written by hand, since server libraries count a stream that they have seen as processed.
pub(super) async fn unprocessed(mut io: impl AsyncRead + AsyncWrite + Unpin) -> io::Result<()> {
    io.read_exact(&mut [0; PREFACE]).await?;
    io.write_all(&OUR_SETTINGS).await?;
    io.flush().await?;
    loop {
        let mut head = [0; 9];
        io.read_exact(&mut head).await?;
        let [a, b, c, kind, flags, ..] = head;
        let length = u32::from_be_bytes([0, a, b, c]);
        let mut payload = (&mut io).take(length.into());
        tokio::io::copy(&mut payload, &mut tokio::io::sink()).await?;
        match kind {
            SETTINGS if flags & ACK == 0 => io.write_all(&SETTINGS_ACK).await?,
            HEADERS => break,
            _ => {}
        }
        io.flush().await?;
    }
    io.write_all(&GOAWAY).await?;
    io.flush().await?;
    // Closing with unread bytes in the socket would be a reset, which could overtake the GOAWAY.
    tokio::io::copy(&mut io, &mut tokio::io::sink()).await?;
    Ok(())
}

use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::watch,
    task::{AbortHandle, JoinSet},
};

/// A TCP relay on loopback that can go silent: connections stay open, and nothing passes any more.
///
/// That is what a peer looks like whose machine lost power or whose firewall forgot the connection. Only keepalive or a
/// deadline notices. Dropping the relay closes all.
#[derive(Debug)]
pub struct Relay {
    address: SocketAddr,
    frozen: watch::Sender<bool>,
    cuts: watch::Sender<u64>,
    connections: Arc<AtomicU64>,
    task: AbortHandle,
}

impl Relay {
    /// Starts to relay from a free loopback port to `target`.
    ///
    /// # Errors
    /// Those of binding the port.
    ///
    /// # Panics
    /// If called outside a tokio runtime.
    pub async fn start(target: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let (frozen, watched) = watch::channel(false);
        let (cuts, cut) = watch::channel(0);
        let connections = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&connections);
        let task = tokio::spawn(accept(listener, target, watched, cut, counter)).abort_handle();
        Ok(Self {
            address,
            frozen,
            cuts,
            connections,
            task,
        })
    }

    /// Where the relay listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Connections accepted so far.
    #[must_use]
    pub fn connections(&self) -> u64 {
        self.connections.load(Relaxed)
    }

    /// Stops forwarding on all connections, also on those to come, and keeps them open.
    pub fn freeze(&self) {
        self.frozen.send_replace(true);
    }

    /// Forwards again, first what had been held back.
    pub fn thaw(&self) {
        self.frozen.send_replace(false);
    }

    /// Closes all connections; new ones are still accepted.
    pub fn cut(&self) {
        self.cuts.send_modify(|cuts| *cuts += 1);
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(
    listener: TcpListener,
    target: SocketAddr,
    frozen: watch::Receiver<bool>,
    mut cut: watch::Receiver<u64>,
    connections: Arc<AtomicU64>,
) {
    // Aborting this task drops the set, which ends the connections.
    let mut running = JoinSet::new();
    loop {
        tokio::select! {
            changed = cut.changed() => match changed {
                Ok(()) => running.abort_all(),
                Err(_) => return,
            },
            accepted = listener.accept() => if let Ok((stream, _)) = accepted {
                connections.fetch_add(1, Relaxed);
                running.spawn(relay(stream, target, frozen.clone()));
            },
            Some(_) = running.join_next() => {}
        }
    }
}

async fn relay(client: TcpStream, target: SocketAddr, mut frozen: watch::Receiver<bool>) {
    let thawed = frozen.wait_for(|frozen| !frozen).await;
    if thawed.map(drop).is_err() {
        return;
    }
    let Ok(server) = TcpStream::connect(target).await else {
        return;
    };
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    // The end of one direction is passed on by `copy`; an error ends both.
    let _ = tokio::try_join!(
        copy(from_client, to_server, frozen.clone()),
        copy(from_server, to_client, frozen),
    );
}

async fn copy(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mut frozen: watch::Receiver<bool>,
) -> io::Result<()> {
    let mut buffer = vec![0; 16 * 1024];
    loop {
        let read = from.read(&mut buffer).await?;
        // What was read while frozen waits here, and so does everything behind it.
        let thawed = frozen.wait_for(|frozen| !frozen).await;
        thawed.map(drop).map_err(io::Error::other)?;
        match buffer.get(..read) {
            Some([]) | None => return to.shutdown().await,
            Some(bytes) => to.write_all(bytes).await?,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::{TcpListener, TcpStream},
        time::timeout,
    };

    use super::Relay;

    #[tokio::test]
    async fn forwards_goes_silent_and_forwards_again() {
        let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let relay = Relay::start(server.local_addr().unwrap()).await.unwrap();
        let mut client = TcpStream::connect(relay.address()).await.unwrap();
        client.write_all(b"a").await.unwrap();
        let (mut served, _) = server.accept().await.unwrap();
        assert_eq!(served.read_u8().await.unwrap(), b'a');

        relay.freeze();
        client.write_all(b"b").await.unwrap();
        let silent = timeout(Duration::from_millis(50), served.read_u8()).await;
        assert!(silent.is_err());

        relay.thaw();
        assert_eq!(served.read_u8().await.unwrap(), b'b');
        served.write_all(b"c").await.unwrap();
        assert_eq!(client.read_u8().await.unwrap(), b'c');

        relay.cut();
        assert!(client.read_u8().await.is_err());
        assert_eq!(relay.connections(), 1);
    }
}

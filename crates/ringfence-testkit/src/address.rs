use std::{
    io,
    net::{Ipv4Addr, SocketAddr, TcpStream},
};

use socket2::{Domain, Socket, Type};

/// A loopback address where every connection is refused, for as long as this value lives.
///
/// The port stays bound without listening, so no other test can be given it meanwhile.
#[derive(Debug)]
pub struct RefusedAddress {
    address: SocketAddr,
    _bound: Socket,
}

impl RefusedAddress {
    /// Takes a free port.
    ///
    /// # Errors
    /// Those of binding the port.
    pub fn new() -> io::Result<Self> {
        let (bound, address) = bind()?;
        Ok(Self {
            address,
            _bound: bound,
        })
    }

    /// Where connections are refused.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

/// A loopback address where connecting neither succeeds nor fails, for as long as this value lives.
///
/// Its queue of unaccepted connections is full, so the system drops every further attempt, as a firewall would.
#[derive(Debug)]
pub struct SilentAddress {
    address: SocketAddr,
    _listening: Socket,
    _filler: TcpStream,
}

impl SilentAddress {
    /// Takes a free port and fills its queue.
    ///
    /// # Errors
    /// Those of binding the port and of connecting to it.
    pub fn new() -> io::Result<Self> {
        let (listening, address) = bind()?;
        // A queue of length 0 still holds one connection on Linux.
        listening.listen(0)?;
        let filler = TcpStream::connect(address)?;
        Ok(Self {
            address,
            _listening: listening,
            _filler: filler,
        })
    }

    /// Where connecting hangs.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

fn bind() -> io::Result<(Socket, SocketAddr)> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into())?;
    let address = socket.local_addr()?.as_socket();
    let address = address.ok_or_else(|| io::Error::other("not an internet socket"))?;
    Ok((socket, address))
}

#[cfg(test)]
mod tests {
    use std::{io::ErrorKind, time::Duration};

    use tokio::{net::TcpStream, time::timeout};

    use super::{RefusedAddress, SilentAddress};

    #[tokio::test]
    async fn a_refused_address_refuses_and_keeps_its_port() {
        let refused = RefusedAddress::new().unwrap();
        for _ in 0..3 {
            let error = TcpStream::connect(refused.address()).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
        }
        assert!(std::net::TcpListener::bind(refused.address()).is_err());
    }

    #[tokio::test]
    async fn a_silent_address_never_answers() {
        let silent = SilentAddress::new().unwrap();
        let connecting = TcpStream::connect(silent.address());
        assert!(
            timeout(Duration::from_millis(100), connecting)
                .await
                .is_err()
        );
    }
}

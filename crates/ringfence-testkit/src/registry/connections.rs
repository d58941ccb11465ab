use std::{
    fs, io,
    net::{IpAddr, SocketAddr},
};

/// How many TCP connections of this machine go to a loopback address and are established, whoever has them: what a client that
/// a test dropped must have closed.
///
/// # Errors
/// Those of asking the system; for an address that is not IPv4.
pub fn connections(to: SocketAddr) -> io::Result<usize> {
    let IpAddr::V4(ip) = to.ip() else {
        return Err(io::ErrorKind::Unsupported.into());
    };
    // Address and port of either side in hexadecimal, the address as the machine keeps it, then the state, of which 01 is this.
    let remote = format!("{:08X}:{:04X}", u32::from_ne_bytes(ip.octets()), to.port());
    Ok(fs::read_to_string("/proc/self/net/tcp")?
        .lines()
        .filter(|line| {
            let mut words = line.split_ascii_whitespace().skip(2);
            words.next() == Some(&remote) && words.next() == Some("01")
        })
        .count())
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::connections;

    #[test]
    fn connections_are_counted_until_they_are_closed() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        assert_eq!(connections(address).unwrap(), 0);
        let streams = [(); 3].map(|()| TcpStream::connect(address).unwrap());
        assert_eq!(connections(address).unwrap(), 3);
        drop(streams);
        assert_eq!(connections(address).unwrap(), 0);
    }
}

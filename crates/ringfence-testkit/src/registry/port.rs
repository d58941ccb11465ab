use std::{
    collections::hash_map::RandomState,
    hash::{BuildHasher as _, Hasher as _},
    io,
    net::{Ipv4Addr, TcpListener, UdpSocket},
};

/// Below the range that the system gives to outgoing connections, so that a port stays free while its server is down.
const RANGE: std::ops::Range<u16> = 12_000..32_000;

/// A loopback port that no other test of this machine gets while this value lives.
///
/// What the system hands out for port 0 is free only while it is held, and a server needs its port back after a restart. So
/// the claim is a UDP socket of the same number on another loopback address, which ends with the process.
#[derive(Debug)]
pub(super) struct Port {
    number: u16,
    _claim: Vec<UdpSocket>,
}

impl Port {
    /// Claims a port that nobody listens on.
    pub(super) fn claim() -> io::Result<Self> {
        Self::claim_with(&[])
    }

    /// Claims a port, and those at these distances above it.
    pub(super) fn claim_with(offsets: &[u16]) -> io::Result<Self> {
        let width = u64::from(RANGE.end - RANGE.start);
        let mut last = None;
        for _ in 0..1_000 {
            let draw = RandomState::new().build_hasher().finish() % width;
            let number = RANGE.start + u16::try_from(draw).unwrap_or_default();
            let all = std::iter::once(0).chain(offsets.iter().copied());
            match all.map(|offset| take(number + offset)).collect() {
                Ok(claim) => {
                    return Ok(Self {
                        number,
                        _claim: claim,
                    });
                }
                Err(error) => last = Some(error),
            }
        }
        Err(last.unwrap_or_else(|| io::Error::other("no free port")))
    }

    pub(super) fn number(&self) -> u16 {
        self.number
    }
}

fn take(number: u16) -> io::Result<UdpSocket> {
    let claim = UdpSocket::bind((Ipv4Addr::new(127, 90, 0, 1), number))?;
    TcpListener::bind((Ipv4Addr::LOCALHOST, number))?;
    UdpSocket::bind((Ipv4Addr::LOCALHOST, number))?;
    Ok(claim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claimed_port_is_free_to_listen_on_and_claimed_by_nobody_else() {
        let port = Port::claim_with(&[1_000]).unwrap();
        for number in [port.number(), port.number() + 1_000] {
            assert!(TcpListener::bind((Ipv4Addr::LOCALHOST, number)).is_ok());
            assert!(take(number).is_err());
        }
    }
}

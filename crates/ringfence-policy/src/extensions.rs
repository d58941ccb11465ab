//! What a program says of its requests, as request extensions.

use std::{collections::BTreeMap, fmt, net::IpAddr, sync::Arc};

use bytes::Bytes;

/// Request extension: claims of the caller that the program has verified, those of a checked token for example.
///
/// ```
/// use ringfence_policy::VerifiedClaims;
///
/// let claims: VerifiedClaims = [("sub", "user-7"), ("iss", "login")].into_iter().collect();
/// assert_eq!(claims.get("sub"), Some(&b"user-7"[..]));
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct VerifiedClaims(Arc<BTreeMap<String, Bytes>>);

impl VerifiedClaims {
    /// The value of a claim.
    #[must_use]
    pub fn get(&self, claim: &str) -> Option<&[u8]> {
        self.0.get(claim).map(|value| &**value)
    }
}

impl<N: Into<String>, V: AsRef<[u8]>> FromIterator<(N, V)> for VerifiedClaims {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(claims: I) -> Self {
        let claims = claims
            .into_iter()
            .map(|(name, value)| (name.into(), Bytes::copy_from_slice(value.as_ref())));
        Self(Arc::new(claims.collect()))
    }
}

impl fmt::Debug for VerifiedClaims {
    /// Names only: values can be personal.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// Request extension: the address of the peer on whose behalf the call is made, as the program's server saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PeerAddress(IpAddr);

impl PeerAddress {
    /// This address; an IPv4 address that is written as an IPv6 one is the IPv4 one.
    #[must_use]
    pub fn new(address: IpAddr) -> Self {
        Self(address.to_canonical())
    }

    /// The address.
    #[must_use]
    pub fn get(self) -> IpAddr {
        self.0
    }
}

//! What a program says of its requests, as request extensions.

use std::{collections::BTreeMap, fmt, net::IpAddr, sync::Arc};

use bytes::Bytes;

/// Request extension: the key of this request, set by the program itself.
///
/// ```
/// use ringfence_policy::RoutingKey;
///
/// let mut request = http::Request::get("/cart").body(())?;
/// request.extensions_mut().insert(RoutingKey::from("tenant-7"));
/// # Ok::<(), http::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RoutingKey(pub Bytes);

impl RoutingKey {
    /// A key with these bytes, for one that is only borrowed.
    ///
    /// ```
    /// use ringfence_policy::RoutingKey;
    ///
    /// let path = String::from("/carts/7");
    /// let cart = path.rsplit('/').next().unwrap_or_default();
    /// assert_eq!(RoutingKey::copy_from(cart), RoutingKey::from("7"));
    /// ```
    #[must_use]
    pub fn copy_from(key: impl AsRef<[u8]>) -> Self {
        Self(Bytes::copy_from_slice(key.as_ref()))
    }
}

impl From<&'static str> for RoutingKey {
    fn from(key: &'static str) -> Self {
        Self(Bytes::from_static(key.as_bytes()))
    }
}

impl From<String> for RoutingKey {
    fn from(key: String) -> Self {
        Self(Bytes::from(key))
    }
}

impl From<Bytes> for RoutingKey {
    fn from(key: Bytes) -> Self {
        Self(key)
    }
}

impl From<Vec<u8>> for RoutingKey {
    fn from(key: Vec<u8>) -> Self {
        Self(Bytes::from(key))
    }
}

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

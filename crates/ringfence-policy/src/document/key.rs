use serde::{Deserialize, Serialize};

use super::is_default;

/// One place in a request from which its key is read, and how the key is brought into its usual form.
///
/// A key that is empty, or longer than the rule's `max_key_len`, counts as absent; the next source is asked then.
///
/// ```
/// use ringfence_policy::{KeySource, Normaliser};
///
/// let user = KeySource::header("x-user").normalised([Normaliser::Trim, Normaliser::UuidLower]);
/// let combined = KeySource::all([KeySource::header("x-tenant"), user]);
/// let session = KeySource::cookie("sid");
/// # let _ = (combined, session);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct KeySource {
    /// Where.
    pub from: KeyFrom,
    /// How, in this order; default: as it is.
    pub normalise: Vec<Normaliser>,
}

/// A place in a request from which a key can be read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyFrom {
    /// The request extension [`RoutingKey`](crate::RoutingKey): what the program itself says.
    Extension,
    /// This claim of the request extension [`VerifiedClaims`](crate::VerifiedClaims).
    Claim(String),
    /// This HTTP header or gRPC metadata entry. Several values of the name are joined in their order by a zero byte, which
    /// no value can have. Names that end in `-bin` are decoded from base64, padded or not; several values of them are each
    /// preceded by their length in four bytes, least first. A value that is no base64 counts as absent.
    Header(String),
    /// This cookie; the first of this name, without quotes around its value.
    Cookie(String),
    /// This parameter of the query, decoded as forms are (percent-escapes, and plus signs for blanks); the first of this name.
    /// One without an equals sign is empty, so it counts as absent.
    Query(String),
    /// This segment of the path, byte for byte, counted from 0: in `/v1/users/42` segment 2 is `42`.
    PathSegment(u16),
    /// The IP address of the peer on whose behalf the call is made, as its 4 or 16 bytes: request extension
    /// [`PeerAddress`](crate::PeerAddress).
    Peer,
    /// What the function of [`PolicyContext::with_function`](crate::PolicyContext::with_function) of this name makes of the
    /// request.
    Function(String),
    /// All of these (2 to 16, nested at most four deep), each preceded by its length, so that `a` and `bc` are not `ab` and
    /// `c`; absent where one of them is.
    All(Vec<KeySource>),
}

/// Brings a key into a usual form, so that spellings of the same thing have the same owner. What is in the form already,
/// or cannot be brought into it, stays as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Normaliser {
    /// Without white space at both ends.
    Trim,
    /// Without slashes at the end, unless there is nothing else.
    TrailingSlash,
    /// A UUID in lower case.
    UuidLower,
    /// ASCII letters in lower case.
    CaseFoldAscii,
    /// Percent-escapes of letters, digits and `-._~` decoded, the others in upper case.
    PercentDecodeUnreserved,
    /// JSON without white space, with names sorted and numbers in their shortest form.
    JsonCanonical,
    /// Unicode normalisation form C.
    Nfc,
}

impl From<KeyFrom> for KeySource {
    /// This place, without normalisation.
    fn from(from: KeyFrom) -> Self {
        Self {
            from,
            normalise: Vec::new(),
        }
    }
}

impl KeySource {
    /// The request extension [`RoutingKey`](crate::RoutingKey).
    #[must_use]
    pub fn extension() -> Self {
        Self::from(KeyFrom::Extension)
    }

    /// An HTTP header or gRPC metadata entry.
    #[must_use]
    pub fn header(name: impl Into<String>) -> Self {
        Self::from(KeyFrom::Header(name.into()))
    }

    /// A claim of the request extension [`VerifiedClaims`](crate::VerifiedClaims).
    #[must_use]
    pub fn claim(name: impl Into<String>) -> Self {
        Self::from(KeyFrom::Claim(name.into()))
    }

    /// A cookie.
    #[must_use]
    pub fn cookie(name: impl Into<String>) -> Self {
        Self::from(KeyFrom::Cookie(name.into()))
    }

    /// A parameter of the query.
    #[must_use]
    pub fn query(name: impl Into<String>) -> Self {
        Self::from(KeyFrom::Query(name.into()))
    }

    /// A combination.
    #[must_use]
    pub fn all(sources: impl IntoIterator<Item = Self>) -> Self {
        Self::from(KeyFrom::All(sources.into_iter().collect()))
    }

    /// Normalised like this, in this order.
    #[must_use]
    pub fn normalised(mut self, normalisers: impl IntoIterator<Item = Normaliser>) -> Self {
        self.normalise = normalisers.into_iter().collect();
        self
    }
}

#[derive(Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Written {
    #[serde(skip_serializing_if = "Option::is_none")]
    extension: Option<Nothing>,
    #[serde(skip_serializing_if = "Option::is_none")]
    claim: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    header: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cookie: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    query: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path_segment: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    peer: Option<Nothing>,
    #[serde(skip_serializing_if = "Option::is_none")]
    function: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    all: Option<Vec<KeySource>>,
    #[serde(skip_serializing_if = "is_default")]
    normalise: Vec<Normaliser>,
}

/// `{}`
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

impl TryFrom<Written> for KeySource {
    type Error = &'static str;

    fn try_from(written: Written) -> Result<Self, Self::Error> {
        let places = [
            written.extension.map(|Nothing {}| KeyFrom::Extension),
            written.claim.map(KeyFrom::Claim),
            written.header.map(KeyFrom::Header),
            written.cookie.map(KeyFrom::Cookie),
            written.query.map(KeyFrom::Query),
            written.path_segment.map(KeyFrom::PathSegment),
            written.peer.map(|Nothing {}| KeyFrom::Peer),
            written.function.map(KeyFrom::Function),
            written.all.map(KeyFrom::All),
        ];
        let mut places = places.into_iter().flatten();
        match (places.next(), places.next()) {
            (Some(from), None) => Ok(Self {
                from,
                normalise: written.normalise,
            }),
            (None, _) => Err(
                "a key source needs one of extension, claim, header, cookie, query, path_segment, peer, function, all",
            ),
            (Some(_), Some(_)) => {
                Err("a key source can name one place only; `all` combines several")
            }
        }
    }
}

impl From<KeySource> for Written {
    fn from(source: KeySource) -> Self {
        let mut written = Self {
            normalise: source.normalise,
            ..Self::default()
        };
        match source.from {
            KeyFrom::Extension => written.extension = Some(Nothing {}),
            KeyFrom::Claim(name) => written.claim = Some(name),
            KeyFrom::Header(name) => written.header = Some(name),
            KeyFrom::Cookie(name) => written.cookie = Some(name),
            KeyFrom::Query(name) => written.query = Some(name),
            KeyFrom::PathSegment(index) => written.path_segment = Some(index),
            KeyFrom::Peer => written.peer = Some(Nothing {}),
            KeyFrom::Function(name) => written.function = Some(name),
            KeyFrom::All(sources) => written.all = Some(sources),
        }
        written
    }
}

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{KeySource, Mode, PoolStage, RequestMatch, is_default};

/// How the requests that it matches are routed.
///
/// ```
/// use ringfence_policy::{KeySource, Limits, PoolStage, Rule, TagMatch};
///
/// let rule = Rule {
///     key: vec![KeySource::header("x-user")],
///     pools: vec![PoolStage::default().requiring("version", TagMatch::is("stable"))],
///     limits: Limits { max_attempts: Some(2), ..Limits::default() },
///     ..Rule::named("checkout")
/// };
/// # let _ = rule;
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Its name in explanations, counters and reports; no other rule may have it.
    pub name: String,
    /// It matches where any of these does; default: all requests.
    #[serde(default, rename = "match", skip_serializing_if = "is_default")]
    pub matches: Vec<RequestMatch>,
    /// Headers that name tags. Whether a client may do so, each entry says.
    #[serde(default, skip_serializing_if = "is_default")]
    pub tags_from_headers: BTreeMap<String, TagFromHeader>,
    /// Where the key is found: the first that yields one; default the request extension
    /// [`RoutingKey`](crate::RoutingKey). At most 16, as of each [`KeyFrom::All`](crate::KeyFrom::All).
    #[serde(default, skip_serializing_if = "is_default")]
    pub key: Vec<KeySource>,
    /// Name of a secret that the program gave. With it the ring sees a keyed hash of the key instead of the key, so that
    /// nobody can make keys that all belong to one instance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keyed_hash: Option<String>,
    /// What happens without a key, whatever the balancer's settings say; default: what they say, which is
    /// [`MissingKey::P2c`] unless the program set something else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing_key: Option<MissingKey>,
    /// Gray releases that its requests can be in, by name; the first that a request is in decides.
    #[serde(default, skip_serializing_if = "is_default")]
    pub gray: Vec<String>,
    /// The pools, best first; default: instances of the version that the request's trusted tags ask for, then all that
    /// belong to no gray release. At most 16.
    #[serde(default, skip_serializing_if = "is_default")]
    pub pools: Vec<PoolStage>,
    /// Ends the search behind the first pool in which any instance is registered, usable or not; default false.
    #[serde(default, skip_serializing_if = "is_default")]
    pub strict: bool,
    /// Bounds of its requests.
    #[serde(default, skip_serializing_if = "is_default")]
    pub limits: Limits,
    /// How far it decides; default as the document.
    #[serde(default, skip_serializing_if = "is_default")]
    pub mode: Mode,
}

impl Rule {
    /// A rule for all requests, with default settings.
    #[must_use]
    pub fn named(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            ..Self::default()
        }
    }
}

/// What a header says of a request's tags.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TagFromHeader {
    /// The tag whose value it is.
    pub tag: String,
    /// Whether it is believed, because something in front of the program removes it from what clients send. Default false:
    /// it is not looked at, and is taken out of the request so that nobody behind believes it either.
    #[serde(default, skip_serializing_if = "is_default")]
    pub trusted: bool,
}

/// What happens to a request without a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum MissingKey {
    /// Of two instances drawn at random by weight the one with fewer requests in flight for its weight (default).
    #[default]
    P2c,
    /// Of all instances the one with the fewest requests in flight for its weight, the one to come included. It looks at all
    /// of them for each request.
    LeastRequest,
    /// One after the other.
    RoundRobin,
    /// Any.
    Random,
    /// The request fails.
    Reject,
}

impl MissingKey {
    /// All of them, the default first.
    pub const ALL: [Self; 5] = [
        Self::P2c,
        Self::LeastRequest,
        Self::RoundRobin,
        Self::Random,
        Self::Reject,
    ];

    /// Its word in a document.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::P2c => "p2c",
            Self::LeastRequest => "least_request",
            Self::RoundRobin => "round_robin",
            Self::Random => "random",
            Self::Reject => "reject",
        }
    }
}

/// Bounds of the requests of a rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Instances that are tried for a request, the first included; default and at most as
    /// the balancer has it, range 1..=8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_attempts: Option<u32>,
    /// Longest key in bytes, after normalisation and as found; a longer one counts as absent. Default 1,024, range
    /// 1..=1,048,576.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_key_len: Option<u32>,
}

/// Why a record is not an instance. Texts are clipped; nothing here is secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InstanceError {
    /// The id is empty, over 255 bytes, or has a control character.
    #[error("instance id must be 1 to 255 bytes without control characters, got {len} bytes")]
    Id {
        /// Its length in bytes.
        len: usize,
    },
    /// The address is not `host:port`.
    #[error("`{text}` is not an address: expected `host:port` with an IP address or DNS name and a port from 1 to 65535{}", .port.map(|p| format!(" (port {p})")).unwrap_or_default())]
    Address {
        /// What was given, clipped.
        text: String,
        /// The port, where it was given apart from the host.
        port: Option<u16>,
    },
    /// The scheme is unknown.
    #[error("unknown scheme `{text}`: expected http or https")]
    Scheme {
        /// What was given, clipped.
        text: String,
    },
    /// The weight is over 1,000,000.
    #[error("weight {weight} is over 1000000")]
    Weight {
        /// What was given.
        weight: u32,
    },
    /// A tag's name or value, or version, region or zone, is too long or has a control character.
    #[error("tag `{name}` is empty, too long, or has a control character")]
    Tag {
        /// Its name, clipped.
        name: String,
    },
    /// More than 256 tags.
    #[error("more than 256 tags")]
    TooManyTags,
}

pub(super) fn has_control(text: &str) -> bool {
    text.chars().any(char::is_control)
}

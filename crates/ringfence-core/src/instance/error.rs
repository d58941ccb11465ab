use super::{InstanceId, Tags, Weight, builder::MAX_LABEL};

/// Why a record is not an instance. Texts are clipped; nothing here is secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InstanceError {
    /// The id is empty, over 255 bytes, or has a control character.
    #[error(
        "instance id must be 1 to {} bytes without control characters, got {len} bytes",
        InstanceId::MAX_LEN
    )]
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
    #[error("weight {weight} is over {}", Weight::MAX)]
    Weight {
        /// What was given.
        weight: u32,
    },
    /// The version, region or zone is over 256 bytes or has a control character.
    #[error("{field} is over {MAX_LABEL} bytes or has a control character")]
    Label {
        /// `version`, `region` or `zone`.
        field: &'static str,
    },
    /// A tag's name is empty, or its name or value is too long or has a control character.
    #[error("tag `{name}` is empty, too long, or has a control character")]
    Tag {
        /// Its name, clipped.
        name: String,
    },
    /// More than 256 tags.
    #[error("more than {} tags", Tags::MAX_TAGS)]
    TooManyTags,
}

pub(super) fn has_control(text: &str) -> bool {
    text.chars().any(char::is_control)
}

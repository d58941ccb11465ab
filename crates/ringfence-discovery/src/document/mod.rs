//! One text somewhere, such as a policy in a file or under a key of a registry: where it is read, and its changes.

#[cfg(feature = "file")]
mod file;
mod fixed;
mod source;
mod watch;

#[cfg(feature = "file")]
pub use self::file::FileDocument;
pub use self::{
    fixed::StaticDocument,
    source::{Document, DocumentSource, MAX_DOCUMENT_BYTES},
    watch::DocumentWatch,
};

//! Copies of services on disk, which bridge a start while the registry is away.
//!
//! # Where
//! `<folder>/<registry>/<service>@<namespace>.v1`. In each part lower-case letters, digits, `-` and `_` stand for themselves
//! and every other byte for `%` and its two hexadecimal digits, so that no name leaves the folder and no two names meet, not
//! even where the file system ignores case. A part longer than 100 bytes is cut and its digest added.
//!
//! # What
//! Version 1 is one line of text and a JSON document after it:
//! ```text
//! ringfence-snapshot 1 <xxh3_64 of the document, 16 hexadecimal digits> <length of the document in bytes>
//! {"registry":"consul …","namespace":null,"service":"order","written_at":1700000000000,"instances":[…]}
//! ```
//! `written_at` counts milliseconds since 1970. The names in the document decide whose copy it is, the path only where it is.

mod config;
mod format;
mod path;
mod store;

pub use self::config::DiskSnapshots;
pub(crate) use self::store::{DiskCopy, Store, Unfit};

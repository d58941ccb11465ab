//! Sources that need no server.

#[cfg(feature = "file")]
pub(crate) mod file;
mod memory;
mod static_list;

#[cfg(feature = "file")]
pub use self::file::{
    FileDiscovery, FileService, InstancesFile, InstancesFileError, parse_instances_file,
};
pub use self::{
    memory::{MemoryRegistry, RegistryError},
    static_list::StaticDiscovery,
};

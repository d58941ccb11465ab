//! Sources that need no server.

mod memory;
mod static_list;

pub use self::{
    memory::{MemoryRegistry, RegistryError},
    static_list::StaticDiscovery,
};

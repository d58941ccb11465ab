//! Nacos.

mod auth;
mod client;
mod config;
mod discovery;
mod failure;
mod hub;
mod login;
mod names;
mod naming;
mod records;
#[cfg(feature = "register")]
mod register;
#[cfg(test)]
mod scripted;
mod sdk;
mod server;

pub use self::{
    config::{NacosConfig, NacosConfigError},
    discovery::NacosDiscovery,
    login::NacosLogin,
};

#[cfg(feature = "register")]
pub use self::register::NacosRegistrar;

/// Name of the source in logs, errors and provenance.
const NAME: &str = "nacos";

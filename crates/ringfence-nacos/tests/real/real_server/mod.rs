mod config;
#[cfg(feature = "register")]
mod contract;
#[cfg(feature = "register")]
mod freezes;
mod login;
mod outages;
mod reading;
#[cfg(feature = "register")]
mod registering;
mod secrets;
mod support;

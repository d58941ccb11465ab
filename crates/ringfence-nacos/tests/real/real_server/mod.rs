mod config;
#[cfg(feature = "register")]
mod contract;
mod login;
mod outages;
mod reading;
#[cfg(feature = "register")]
mod registering;
mod secrets;
mod support;

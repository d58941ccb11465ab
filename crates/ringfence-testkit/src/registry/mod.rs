//! Real registry servers for tests: Consul, etcd (one node or three) and rnacos, which speaks Nacos's protocol.

mod cluster;
mod connections;
mod consul;
mod etcd;
mod etcd_api;
mod http;
mod nacos;
mod port;
mod process;
mod program;
mod secret;

use std::{fmt, io};

pub use self::{
    cluster::EtcdCluster,
    connections::connections,
    consul::{Consul, ConsulOptions},
    etcd::{Etcd, EtcdOptions},
    nacos::{Nacos, NacosOptions},
    program::program,
    secret::{Credentials, secret},
};
use ringfence_discovery::BoxFuture;

/// What can be done to a running registry server. Ports and addresses stay the same over all of it.
///
/// The server ends with this value, and its data folder goes, also when the test panics or is killed.
pub trait RegistryServer: fmt::Debug + Send {
    /// Kills the server at once (SIGKILL) and waits until it is gone. Its data stays.
    ///
    /// # Errors
    /// Those of the system.
    fn kill(&mut self) -> io::Result<()>;

    /// Asks the server to end (SIGTERM) and waits for it, at most 10 s, then kills it. Its data stays.
    ///
    /// # Errors
    /// Those of the system.
    fn stop(&mut self) -> io::Result<()>;

    /// Freezes the server (SIGSTOP): connections stay open and nothing answers.
    ///
    /// # Errors
    /// Those of the system; when it does not run.
    fn pause(&self) -> io::Result<()>;

    /// Lets a frozen server go on (SIGCONT).
    ///
    /// # Errors
    /// Those of the system; when it does not run.
    fn resume(&self) -> io::Result<()>;

    /// Starts the server on the data that it had, after killing it if it runs, and waits until it is ready.
    ///
    /// # Errors
    /// When it does not become ready; with the end of its log.
    fn restart(&mut self) -> BoxFuture<'_, io::Result<()>>;

    /// Kills the server, takes its data away, starts it and waits until it is ready: what it counts begins low again.
    ///
    /// # Errors
    /// When it does not become ready; with the end of its log.
    fn wipe(&mut self) -> BoxFuture<'_, io::Result<()>>;

    /// The end of what it logged.
    fn log(&self) -> String;
}

use std::{collections::BTreeMap, future::Future};

use ringfence::discovery::Registration;
use ringfence_echo::EchoServer;

use crate::BoxError;

/// A server that answers with its id.
pub trait Server: Send {
    /// The id that it answers with.
    fn id(&self) -> &str;

    /// Lets running calls end, and ends.
    fn stop(self) -> impl Future<Output = ()> + Send;
}

impl Server for EchoServer {
    fn id(&self) -> &str {
        EchoServer::id(self)
    }

    async fn stop(self) {
        EchoServer::stop(self).await;
    }
}

/// Servers that registered themselves. In production each is a process of its own.
#[derive(Debug)]
pub struct Fleet<S>(BTreeMap<String, (S, Registration)>);

impl<S> Default for Fleet<S> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<S: Server> Fleet<S> {
    /// Adds a server with its registration.
    pub fn add(&mut self, server: S, registration: Registration) {
        self.0
            .insert(server.id().to_owned(), (server, registration));
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Asks for no new requests for a server, which serves on.
    pub(crate) async fn drain(&self, id: &str) -> Result<(), BoxError> {
        let (_, registration) = self.0.get(id).ok_or("no such server")?;
        Ok(registration.drain().await?)
    }

    /// Takes a server out of the registry and ends it: in this order, so that nobody is sent to one that is gone.
    pub(crate) async fn retire(&mut self, id: &str) -> Result<(), BoxError> {
        let (server, registration) = self.0.remove(id).ok_or("no such server")?;
        let outcome = registration.deregister().await;
        server.stop().await;
        Ok(outcome?)
    }

    /// Does that with all; the first error.
    pub(crate) async fn retire_all(&mut self) -> Result<(), BoxError> {
        let mut outcome = Ok(());
        while let Some(id) = self.0.keys().next().cloned() {
            outcome = outcome.and(self.retire(&id).await);
        }
        outcome
    }
}

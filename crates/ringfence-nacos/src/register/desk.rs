use nacos_sdk::api::naming::ServiceInstance;
use ringfence_discovery::BoxFuture;

use super::slots::Slot;
use crate::{failure::Failure, naming::Target, sdk::Connection};

/// What is used of a naming service to write. Each call may hang for ever, so each is made with a time limit.
pub(super) trait Desk: Send + Sync + 'static {
    /// Even if it fails, the library may carry it out later.
    fn register<'a>(
        &'a self,
        target: &'a Target,
        instance: ServiceInstance,
    ) -> BoxFuture<'a, Result<(), Failure>>;

    /// Once it succeeded, the library carries out nothing more. That says nothing about the list: a server ignores who asks through
    /// another connection than the one that registered.
    fn deregister<'a>(
        &'a self,
        target: &'a Target,
        instance: ServiceInstance,
    ) -> BoxFuture<'a, Result<(), Failure>>;

    /// What the server lists now.
    fn list<'a>(
        &'a self,
        target: &'a Target,
    ) -> BoxFuture<'a, Result<Vec<ServiceInstance>, Failure>>;

    /// Has the server end what it keeps for earlier connections.
    fn retire(&self);
}

impl Desk for Slot {
    fn register<'a>(
        &'a self,
        target: &'a Target,
        instance: ServiceInstance,
    ) -> BoxFuture<'a, Result<(), Failure>> {
        Box::pin(async move {
            let service = self.connection.ready().await?;
            let (name, group) = names(target);
            let registered = service.register_instance(name, group, instance).await;
            registered.map_err(|error| self.connection.judge(error))
        })
    }

    fn deregister<'a>(
        &'a self,
        target: &'a Target,
        instance: ServiceInstance,
    ) -> BoxFuture<'a, Result<(), Failure>> {
        Box::pin(async move {
            let service = self.connection.ready().await?;
            let (name, group) = names(target);
            let removed = service.deregister_instance(name, group, instance).await;
            removed.map_err(|error| self.connection.judge(error))
        })
    }

    fn list<'a>(
        &'a self,
        target: &'a Target,
    ) -> BoxFuture<'a, Result<Vec<ServiceInstance>, Failure>> {
        Box::pin(async move {
            let service = self.connection.ready().await?;
            let (name, group) = names(target);
            let listed = service.get_all_instances(name, group, Vec::new(), false);
            listed.await.map_err(|error| self.connection.judge(error))
        })
    }

    fn retire(&self) {
        Connection::retire(&self.connection);
    }
}

fn names(target: &Target) -> (String, Option<String>) {
    (target.service.to_string(), Some(target.group.to_string()))
}

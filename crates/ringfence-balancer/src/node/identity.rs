//! Which record of a registry is which running server.

use std::sync::Arc;

use ringfence_core::{Address, Instance, InstanceId, Scheme};

use super::Node;

/// What makes two records of a registry the same running server.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct NodeIdentity {
    pub(super) id: InstanceId,
    pub(super) address: Address,
    pub(super) scheme: Scheme,
}

impl NodeIdentity {
    pub(crate) fn of(instance: &Instance) -> Self {
        Self {
            id: instance.id().clone(),
            address: instance.address().clone(),
            scheme: instance.scheme(),
        }
    }

    pub(crate) fn id(&self) -> &InstanceId {
        &self.id
    }

    pub(crate) fn address(&self) -> &Address {
        &self.address
    }
}

/// An instance of the published snapshot together with its node; one for each, so that handing out
/// both costs one reference count, and not one that all requests share.
#[derive(Debug)]
pub(crate) struct Seat {
    pub(crate) instance: Arc<Instance>,
    pub(crate) node: Arc<Node>,
}

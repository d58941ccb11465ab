//! ringfence-core

mod instance;
mod snapshot;

pub use self::{
    instance::{
        Address, Health, Instance, InstanceBuilder, InstanceError, InstanceId, Scheme, TENANT_TAG,
        Tags, Weight,
    },
    snapshot::{InstanceChange, Snapshot, SnapshotDiff},
};

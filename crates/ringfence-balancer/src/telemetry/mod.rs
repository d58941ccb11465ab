//! What a balancer tells of itself: to observers as it happens, and to whoever asks.

mod both;
mod calls;
mod guarded;
mod history;
mod hot_keys;
mod instances;
mod label;
mod labels;
mod meter;
mod observer;
mod outcome;
mod places;
mod record;
mod samples;
mod shares;
mod state;

use self::guarded::guarded;
pub(crate) use self::{
    both::Both,
    calls::Calls,
    history::{Applied, History},
    hot_keys::HotKeySampler,
    instances::{skew as observed_skew, statuses as instance_statuses},
    shares::ShareCache,
};
pub use self::{
    history::Change,
    hot_keys::{HotKeyStatus, HotKeys},
    instances::InstanceStatus,
    label::PoolLabel,
    observer::{BalancerEvent, CallEnd, CallObserver, Observer},
    outcome::CallOutcome,
    record::CallRecord,
    samples::DecisionSample,
    shares::RingShares,
    state::InstanceState,
};

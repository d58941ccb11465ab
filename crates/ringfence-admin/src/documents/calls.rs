//! What calls became of, as far as they were looked at.

use ringfence_balancer::{Balancer, DecisionSample, HotKeyStatus};
use serde::Serialize;

use super::{ms, unix_ms};

/// Most hot keys that are told.
const HOTTEST: usize = 20;

/// A bounded sample of calls, the oldest first.
#[derive(Debug, Serialize)]
pub(crate) struct Decisions {
    decisions: Vec<DecisionRow>,
}

#[derive(Debug, Serialize)]
struct DecisionRow {
    at_unix_ms: u64,
    epoch: u64,
    /// Rule and number of the stage.
    pool: String,
    instance: Option<String>,
    /// In hexadecimal digits; the key itself is kept nowhere.
    key_hash: Option<String>,
    key_source: Option<String>,
    attempts: u32,
    outcome: &'static str,
    took_ms: f64,
}

pub(crate) fn decisions(balancer: &Balancer) -> Decisions {
    let decisions = balancer.decisions();
    Decisions {
        decisions: decisions.into_iter().map(DecisionRow::of).collect(),
    }
}

impl DecisionRow {
    fn of(sample: DecisionSample) -> Self {
        Self {
            at_unix_ms: unix_ms(sample.at),
            epoch: sample.epoch,
            pool: sample.pool.to_string(),
            instance: sample.instance.map(|id| id.to_string()),
            key_hash: sample.key_hash.map(|hash| hex(hash.get())),
            key_source: sample.key_source,
            attempts: sample.attempts,
            outcome: sample.outcome.as_str(),
            took_ms: ms(sample.took),
        }
    }
}

/// The keys that come most often.
#[derive(Debug, Serialize)]
pub(crate) struct HotKeysDocument {
    /// Whether keys are counted; see `BalancerConfig::with_hot_keys`.
    on: bool,
    /// How many count as hot.
    hot: usize,
    hottest: Vec<HotKeyRow>,
}

#[derive(Debug, Serialize)]
struct HotKeyRow {
    key_hash: String,
    /// Part of the requests with a key.
    share: f64,
    hot: bool,
    /// The instance that was chosen for it last.
    instance: String,
}

pub(crate) fn hot_keys(balancer: &Balancer) -> HotKeysDocument {
    let keys = balancer.hot_keys(HOTTEST);
    HotKeysDocument {
        on: balancer.config().hot_keys().is_some(),
        hot: keys.hot,
        hottest: keys.hottest.iter().map(HotKeyRow::of).collect(),
    }
}

impl HotKeyRow {
    fn of(key: &HotKeyStatus) -> Self {
        Self {
            key_hash: hex(key.hash.get()),
            share: key.share,
            hot: key.is_hot,
            instance: key.instance.to_string(),
        }
    }
}

/// As an explanation writes the hash of a key; numbers of 64 bits are no numbers in every language.
fn hex(hash: u64) -> String {
    format!("{hash:016x}")
}

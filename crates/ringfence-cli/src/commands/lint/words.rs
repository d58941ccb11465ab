//! Settings that are one of some words.

use ringfence_balancer::StartPolicy;
use ringfence_core::did_you_mean;
use ringfence_policy::MissingKey;

/// What has a word for each of its values.
pub(super) trait Words: Copy + PartialEq + 'static {
    const ALL: &'static [(&'static str, Self)];
}

/// As in a policy.
impl Words for MissingKey {
    const ALL: &'static [(&'static str, Self)] = &[
        ("p2c", Self::P2c),
        ("least_request", Self::LeastRequest),
        ("round_robin", Self::RoundRobin),
        ("random", Self::Random),
        ("reject", Self::Reject),
    ];
}

impl Words for StartPolicy {
    const ALL: &'static [(&'static str, Self)] = &[
        ("fail", Self::Fail),
        ("lazy", Self::Lazy),
        ("use_disk_snapshot", Self::UseDiskSnapshot),
        ("wait", Self::Wait),
    ];
}

pub(super) fn word<T: Words>(text: &str) -> Result<T, String> {
    let found = T::ALL.iter().find(|(word, _)| *word == text);
    let words = T::ALL.iter().map(|(word, _)| *word);
    let fault = || format!("no such value `{text}`{}", did_you_mean(text, words));
    found.map(|(_, value)| *value).ok_or_else(fault)
}

pub(super) fn word_of<T: Words>(value: T) -> String {
    let found = T::ALL.iter().find(|(_, known)| *known == value);
    found.map_or("?", |(word, _)| word).to_owned()
}

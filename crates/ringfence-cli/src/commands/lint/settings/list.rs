//! Which settings there are.

use ringfence_balancer::StartPolicy;
use ringfence_policy::MissingKey;

use super::{
    super::values::{duration, is_off, number, ranged, shown, told, truth, word},
    draft::{Draft, FAILURE_PERCENTAGE, FLAP_DAMPING, HEALTH_CHECK, HOT_KEYS, SUCCESS_RATE},
};

/// One setting: its name, how it is set from a text, and what it is.
pub(super) struct Setting {
    pub(super) name: &'static str,
    pub(super) set: fn(&mut Draft, &str) -> Result<(), String>,
    pub(super) get: fn(&Draft) -> String,
}

/// A table of settings, by section and the part of the draft that has them: what kind it is, its name, the setter, and how its text is
/// read. A setter of the kind `checked` checks a range, one that is `free` takes any value, and a setting that is `held` can be `off` too,
/// by a setter of its own.
macro_rules! settings {
    ($($section:literal $part:ident { $($kind:ident $name:ident $with:ident $read:ident $($without:ident)?;)* })*) => {
        &[$($(Setting {
            name: concat!($section, stringify!($name)),
            set: |draft, text| {
                settings!(@ $kind draft $part $with $read text $($without)?);
                Ok(())
            },
            get: |draft| shown(draft.$part.$name()),
        },)*)*]
    };
    (@ checked $draft:ident $part:ident $with:ident number $text:ident) => {
        $draft.$part = ranged($text, |number| $draft.$part.clone().$with(number))?
    };
    (@ checked $draft:ident $part:ident $with:ident $read:ident $text:ident) => {
        $draft.$part = told($draft.$part.clone().$with($read($text)?))?
    };
    (@ free $draft:ident $part:ident $with:ident $read:ident $text:ident) => {
        $draft.$part = $draft.$part.clone().$with($read($text)?)
    };
    (@ held $draft:ident $part:ident $with:ident $read:ident $text:ident $without:ident) => {
        match is_off($text) {
            true => $draft.$part = $draft.$part.clone().$without(),
            false => settings!(@ checked $draft $part $with $read $text),
        }
    };
}

/// The halves of pairs, which are set as one when both are known.
macro_rules! halves {
    ($($name:literal $part:ident $get:ident $read:ident $pair:ident $place:tt;)*) => {
        &[$(Setting {
            name: $name,
            set: |draft, text| {
                draft.$pair.$place = Some($read(text)?);
                Ok(())
            },
            get: |draft| shown(draft.$part.$get()),
        },)*]
    };
}

/// Sections that are on or off as a whole, and on with any of their settings.
macro_rules! switches {
    ($($name:ident)*) => {
        &[$(Setting {
            name: $name,
            set: |draft, text| draft.switch($name, text),
            get: |draft| (if draft.is_on($name) { "on" } else { "off" }).to_owned(),
        },)*]
    };
}

const SETTINGS: &[Setting] = settings! {
    "" config {
        checked max_attempts with_max_attempts number;
        checked max_key_len with_max_key_len number;
        checked max_merge_delay with_max_merge_delay duration;
        checked max_pools with_max_pools number;
        checked movement_window with_movement_window duration;
        checked panic_threshold with_panic_threshold number;
        checked ready_timeout with_ready_timeout duration;
        checked update_merge_window with_update_merge_window duration;
    }
    "concurrency." concurrency {
        checked max_in_flight with_max_in_flight number;
        checked max_in_flight_per_instance with_max_in_flight_per_instance number;
        checked max_queued with_max_queued number;
        checked queue_timeout with_queue_timeout duration;
    }
    "flap_damping." damping {
        checked half_life with_half_life duration;
        checked max_suppress_time with_max_suppress_time duration;
        checked stable_time with_stable_time duration;
    }
    "health_check." checks {
        checked fall with_fall number;
        checked jitter_percent with_jitter_percent number;
        checked max_concurrent with_max_concurrent number;
        free require_pass with_require_pass truth;
        checked rise with_rise number;
    }
    "hot_keys." hot_keys {
        checked counters with_counters number;
        checked half_life with_half_life duration;
        checked hot_percent with_hot_percent number;
    }
    "outlier." outlier {
        free always_eject_one with_always_eject_one truth;
        checked base_ejection_time with_base_ejection_time duration;
        free consecutive_connect_failures with_consecutive_connect_failures number;
        free consecutive_failures with_consecutive_failures number;
        checked interval with_interval duration;
        checked max_ejection_percent with_max_ejection_percent number;
        checked max_ejection_time with_max_ejection_time duration;
        checked probe_interval with_probe_interval duration;
        checked probe_timeout with_probe_timeout duration;
        checked trial_requests with_trial_requests number;
        checked trial_successes with_trial_successes number;
    }
    "outlier.failure_percentage." failure_percentage {
        checked enforcement_percentage with_enforcement_percentage number;
        checked minimum_hosts with_minimum_hosts number;
        checked request_volume with_request_volume number;
        checked threshold with_threshold number;
    }
    "outlier.success_rate." success_rate {
        checked enforcement_percentage with_enforcement_percentage number;
        checked minimum_hosts with_minimum_hosts number;
        checked request_volume with_request_volume number;
        checked stdev_factor with_stdev_factor number;
    }
    "retry_budget." retry_budget {
        free min_per_second with_min_per_second number;
        checked percent with_percent number;
    }
    "slow_start." slow_start {
        checked aggression_percent with_aggression_percent number;
        checked min_weight_percent with_min_weight_percent number;
        checked window with_window duration;
    }
    "watch." watch {
        held empty_hold with_empty_hold duration without_hold;
        checked fetch_timeout with_fetch_timeout duration;
        held max_loss_percent with_max_loss_percent number without_max_loss;
        free seed with_seed number;
        held stale_after with_stale_after duration without_staleness;
    }
    "watch.disk_snapshots." copies {
        checked max_age with_max_age duration;
        checked use_after with_use_after duration;
    }
};

const HALVES: &[Setting] = halves! {
    "flap_damping.reuse" damping reuse number thresholds 1;
    "flap_damping.suppress" damping suppress number thresholds 0;
    "health_check.interval" checks interval duration check_times 0;
    "health_check.timeout" checks timeout duration check_times 1;
    "watch.backoff_base" watch backoff_base duration backoff 0;
    "watch.backoff_max" watch backoff_max duration backoff 1;
    "watch.resync_jitter_percent" watch resync_jitter_percent number resync 1;
};

const SWITCHES: &[Setting] = switches! {
    FAILURE_PERCENTAGE FLAP_DAMPING HEALTH_CHECK HOT_KEYS SUCCESS_RATE
};

/// Those that are like no other.
const OTHERS: &[Setting] = &[
    Setting {
        name: "missing_key",
        set: |draft, text| {
            draft.config = draft.config.clone().with_missing_key(word(
                text,
                &MissingKey::ALL,
                MissingKey::as_str,
            )?);
            Ok(())
        },
        get: |draft| draft.config.missing_key().as_str().to_owned(),
    },
    Setting {
        name: "start_policy",
        set: |draft, text| {
            draft.config = draft.config.clone().with_start_policy(word(
                text,
                &StartPolicy::ALL,
                StartPolicy::as_str,
            )?);
            Ok(())
        },
        get: |draft| draft.config.start_policy().as_str().to_owned(),
    },
    Setting {
        name: "hash_balance_factor",
        set: |draft, text| {
            let text = if is_off(text) { "0" } else { text };
            let set = |percent| draft.config.clone().with_hash_balance_factor(percent);
            draft.config = ranged(text, set)?;
            Ok(())
        },
        get: |draft| {
            let factor = draft.config.hash_balance_factor();
            shown(factor.map(|factor| factor.percent()))
        },
    },
    Setting {
        name: "watch.disk_snapshots.dir",
        set: |draft, text| {
            draft.copies_dir = Some(text.into());
            Ok(())
        },
        get: |draft| shown(draft.copies_dir.as_ref()),
    },
    Setting {
        name: "watch.resync_interval",
        set: |draft, text| {
            match is_off(text) {
                true => draft.watch = draft.watch.clone().without_resync(),
                false => draft.resync.0 = Some(duration(text)?),
            }
            Ok(())
        },
        get: |draft| shown(draft.watch.resync_interval()),
    },
];

/// All settings, but for those of rings, which are a policy's matter.
pub(super) fn settings() -> impl Iterator<Item = &'static Setting> {
    SETTINGS.iter().chain(HALVES).chain(SWITCHES).chain(OTHERS)
}

pub(super) fn named(name: &str) -> Option<&'static Setting> {
    settings().find(|setting| setting.name == name)
}

/// The section of which this is a setting, where that can be switched.
pub(super) fn switch_of(name: &str) -> Option<&'static str> {
    let mut switches = SWITCHES.iter().map(|setting| setting.name);
    switches.find(|switch| {
        let rest = name.strip_prefix(switch);
        rest.is_some_and(|rest| rest.starts_with('.'))
    })
}

pub(super) fn is_switch(name: &str) -> bool {
    SWITCHES.iter().any(|setting| setting.name == name)
}

/// A setting of a section, where this is one.
pub(super) fn member_of(section: &str) -> Option<&'static str> {
    let mut names = settings().map(|setting| setting.name);
    let member = names.find(|name| {
        let rest = name.strip_prefix(section);
        rest.is_some_and(|rest| rest.starts_with('.'))
    });
    member.or((section == "ring").then_some("ring.algorithm"))
}

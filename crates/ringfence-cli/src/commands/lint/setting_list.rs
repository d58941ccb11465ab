//! Which settings there are.

use super::{
    settings::Draft,
    values::{duration, number, shown, told},
};

/// One setting: its name, how it is set from a text, and what it is.
pub(super) struct Setting {
    pub(super) name: &'static str,
    pub(super) set: fn(&mut Draft, &str) -> Result<(), String>,
    pub(super) get: fn(&Draft) -> String,
}

/// A setting of `draft.$part` with a setter that checks its range.
macro_rules! checked {
    ($name:literal, $part:ident, $with:ident, $get:ident, $read:ident) => {
        Setting {
            name: $name,
            set: |draft, text| {
                let value = $read(text)?;
                draft.$part = told(draft.$part.clone().$with(value))?;
                Ok(())
            },
            get: |draft| shown(draft.$part.$get()),
        }
    };
}

/// A setting with a setter that takes any value.
macro_rules! free {
    ($name:literal, $part:ident, $with:ident, $get:ident, $read:ident) => {
        Setting {
            name: $name,
            set: |draft, text| {
                let value = $read(text)?;
                draft.$part = draft.$part.clone().$with(value);
                Ok(())
            },
            get: |draft| shown(draft.$part.$get()),
        }
    };
}

/// A setting of the health checks, which are on with any of them.
macro_rules! check {
    ($name:literal, $with:ident, $get:ident, $read:ident) => {
        Setting {
            name: $name,
            set: |draft, text| {
                let value = $read(text)?;
                draft.checks = told(draft.checks.clone().$with(value))?;
                draft.has_checks = true;
                Ok(())
            },
            get: |draft| shown(draft.checks.$get()),
        }
    };
}

/// One of a pair that is set as one; `check` where it belongs to the health checks.
macro_rules! half {
    ($name:literal, $pair:ident, $place:tt, $part:ident, $get:ident, $checks:literal) => {
        Setting {
            name: $name,
            set: |draft, text| {
                draft.$pair.$place = Some(duration(text)?);
                draft.has_checks |= $checks;
                Ok(())
            },
            get: |draft| shown(draft.$part.$get()),
        }
    };
}

pub(super) const SETTINGS: &[Setting] = &[
    checked!(
        "concurrency.max_in_flight",
        concurrency,
        with_max_in_flight,
        max_in_flight,
        number
    ),
    checked!(
        "concurrency.max_in_flight_per_instance",
        concurrency,
        with_max_in_flight_per_instance,
        max_in_flight_per_instance,
        number
    ),
    checked!(
        "concurrency.max_queued",
        concurrency,
        with_max_queued,
        max_queued,
        number
    ),
    checked!(
        "concurrency.queue_timeout",
        concurrency,
        with_queue_timeout,
        queue_timeout,
        duration
    ),
    check!("health_check.fall", with_fall, fall, number),
    half!(
        "health_check.interval",
        check_times,
        0,
        checks,
        interval,
        true
    ),
    check!(
        "health_check.jitter_percent",
        with_jitter_percent,
        jitter_percent,
        number
    ),
    check!(
        "health_check.max_concurrent",
        with_max_concurrent,
        max_concurrent,
        number
    ),
    check!("health_check.rise", with_rise, rise, number),
    half!(
        "health_check.timeout",
        check_times,
        1,
        checks,
        timeout,
        true
    ),
    checked!(
        "max_attempts",
        config,
        with_max_attempts,
        max_attempts,
        number
    ),
    checked!("max_key_len", config, with_max_key_len, max_key_len, number),
    checked!(
        "max_merge_delay",
        config,
        with_max_merge_delay,
        max_merge_delay,
        duration
    ),
    checked!("max_pools", config, with_max_pools, max_pools, number),
    checked!(
        "outlier.base_ejection_time",
        outlier,
        with_base_ejection_time,
        base_ejection_time,
        duration
    ),
    free!(
        "outlier.consecutive_connect_failures",
        outlier,
        with_consecutive_connect_failures,
        consecutive_connect_failures,
        number
    ),
    free!(
        "outlier.consecutive_failures",
        outlier,
        with_consecutive_failures,
        consecutive_failures,
        number
    ),
    checked!(
        "outlier.interval",
        outlier,
        with_interval,
        interval,
        duration
    ),
    checked!(
        "outlier.max_ejection_percent",
        outlier,
        with_max_ejection_percent,
        max_ejection_percent,
        number
    ),
    checked!(
        "outlier.max_ejection_time",
        outlier,
        with_max_ejection_time,
        max_ejection_time,
        duration
    ),
    checked!(
        "outlier.probe_interval",
        outlier,
        with_probe_interval,
        probe_interval,
        duration
    ),
    checked!(
        "outlier.probe_timeout",
        outlier,
        with_probe_timeout,
        probe_timeout,
        duration
    ),
    checked!(
        "outlier.trial_requests",
        outlier,
        with_trial_requests,
        trial_requests,
        number
    ),
    checked!(
        "outlier.trial_successes",
        outlier,
        with_trial_successes,
        trial_successes,
        number
    ),
    checked!(
        "panic_threshold",
        config,
        with_panic_threshold,
        panic_threshold,
        number
    ),
    checked!(
        "ready_timeout",
        config,
        with_ready_timeout,
        ready_timeout,
        duration
    ),
    free!(
        "retry_budget.min_per_second",
        retry_budget,
        with_min_per_second,
        min_per_second,
        number
    ),
    checked!(
        "retry_budget.percent",
        retry_budget,
        with_percent,
        percent,
        number
    ),
    checked!(
        "update_merge_window",
        config,
        with_update_merge_window,
        update_merge_window,
        duration
    ),
    half!("watch.backoff_base", backoff, 0, watch, backoff_base, false),
    half!("watch.backoff_max", backoff, 1, watch, backoff_max, false),
    checked!(
        "watch.empty_hold",
        watch,
        with_empty_hold,
        empty_hold,
        duration
    ),
    checked!(
        "watch.fetch_timeout",
        watch,
        with_fetch_timeout,
        fetch_timeout,
        duration
    ),
    checked!(
        "watch.max_loss_percent",
        watch,
        with_max_loss_percent,
        max_loss_percent,
        number
    ),
    Setting {
        name: "watch.resync_interval",
        set: |draft, text| {
            let jitter = draft.watch.resync_jitter_percent();
            draft.watch = told(draft.watch.clone().with_resync(duration(text)?, jitter))?;
            Ok(())
        },
        get: |draft| shown(draft.watch.resync_interval()),
    },
    checked!(
        "watch.stale_after",
        watch,
        with_stale_after,
        stale_after,
        duration
    ),
];

//! Values of settings, from texts and to texts.

use std::{fmt::Debug, str::FromStr, time::Duration};

use ringfence_core::{ConfigError, did_you_mean};

pub(super) fn told<T>(set: Result<T, ConfigError>) -> Result<T, String> {
    set.map_err(|error| error.to_string())
}

/// `Some` stands for what a setting is while it is on.
pub(super) fn shown(value: impl Debug) -> String {
    let text = format!("{value:?}");
    let inner = text
        .strip_prefix("Some(")
        .and_then(|rest| rest.strip_suffix(')'));
    match inner.unwrap_or(&text) {
        "None" => "off".to_owned(),
        // The shortest unit that is read.
        "0ns" => "0ms".to_owned(),
        text => text.to_owned(),
    }
}

pub(super) fn number<T: FromStr>(text: &str) -> Result<T, String> {
    let read = text.replace('_', "").parse().ok();
    read.ok_or_else(|| format!("`{text}` is no whole number of its range"))
}

pub(super) fn truth(text: &str) -> Result<bool, String> {
    let read = text.parse();
    read.map_err(|_| format!("`{text}` is neither true nor false"))
}

/// Whether nothing is meant; readers of YAML take `off` for `false`.
pub(super) fn is_off(text: &str) -> bool {
    ["off", "false"].contains(&text)
}

/// Whether a whole section is on.
pub(super) fn switch(text: &str) -> Result<bool, String> {
    match text {
        "on" | "true" => Ok(true),
        _ if is_off(text) => Ok(false),
        _ => Err(format!("`{text}` is neither on nor off")),
    }
}

/// The value of all that has this word.
pub(super) fn word<T: Copy>(
    text: &str,
    all: &[T],
    as_str: fn(T) -> &'static str,
) -> Result<T, String> {
    let found = all.iter().find(|value| as_str(**value) == text);
    let words = all.iter().map(|value| as_str(*value));
    let fault = || format!("no such value `{text}`{}", did_you_mean(text, words));
    found.copied().ok_or_else(fault)
}

/// A number with `ms`, `s`, `m` or `h`.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    let seconds = match unit.trim() {
        "ms" => 0.001,
        "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3_600.0,
        "" => return Err(format!("`{text}` has no unit: write {text}ms or {text}s")),
        _ => return Err(format!("`{text}` is no time, such as 200ms, 5s, 2m or 1h")),
    };
    let number = digits.parse::<f64>().ok();
    let duration = number.and_then(|number| Duration::try_from_secs_f64(number * seconds).ok());
    duration.ok_or_else(|| format!("`{text}` is no time, such as 200ms, 5s, 2m or 1h"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        assert_eq!(duration("200ms"), Ok(Duration::from_millis(200)));
        assert_eq!(duration(" 1.5 s"), Ok(Duration::from_millis(1_500)));
        assert_eq!(duration("2m"), duration("2min"));
        assert_eq!(duration("1h"), Ok(Duration::from_secs(3_600)));
        for wrong in [
            "",
            "5",
            "s",
            "-1s",
            "1e400s",
            "9999999999999999999999s",
            "5 parsecs",
        ] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
        // What is shown is read again.
        for time in [0, 1, 999, 1_000, 90_000] {
            let time = Duration::from_millis(time);
            assert_eq!(duration(&shown(Some(time))), Ok(time));
        }
        assert_eq!(shown(None::<u8>), "off");
    }
}

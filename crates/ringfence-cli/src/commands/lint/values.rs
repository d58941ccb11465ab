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

/// A whole number of a setting.
pub(super) trait Whole: FromStr + Debug {
    const LEAST: Self;
    const MOST: Self;
}

macro_rules! whole {
    ($($number:ident)*) => {
        $(impl Whole for $number {
            const LEAST: Self = Self::MIN;
            const MOST: Self = Self::MAX;
        })*
    };
}

whole! { u8 u16 u32 u64 usize }

pub(super) fn number<T: Whole>(text: &str) -> Result<T, String> {
    read(text).ok_or_else(|| no_number(text, &format!("{:?}..={:?}", T::LEAST, T::MOST)))
}

/// Sets a number, or says which ones the setter takes: these are fewer than the type has.
pub(super) fn ranged<T: Whole, C>(
    text: &str,
    set: impl Fn(T) -> Result<C, ConfigError>,
) -> Result<C, String> {
    if let Some(number) = read(text) {
        return told(set(number));
    }
    let refused = set(T::MOST).err().or_else(|| set(T::LEAST).err());
    Err(match refused {
        Some(error) => no_number(text, error.allowed()),
        None => number::<T>(text).err().unwrap_or_default(),
    })
}

fn read<T: Whole>(text: &str) -> Option<T> {
    text.replace('_', "").parse().ok()
}

fn no_number(text: &str, allowed: &str) -> String {
    format!("`{text}` is no whole number, allowed is {allowed}")
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

    #[test]
    fn what_is_no_number_is_told_with_those_that_are_taken() {
        let checked = |n: u8| ConfigError::check("x", n, 1..=8);
        assert_eq!(ranged("8", checked), Ok(8));
        assert_eq!(
            ranged("9", checked),
            Err("x is 9, allowed is 1..=8".to_owned())
        );
        for text in ["many", "-1", "300", "1.5", ""] {
            let fault = format!("`{text}` is no whole number, allowed is 1..=8");
            assert_eq!(ranged(text, checked), Err(fault));
            let fault = format!("`{text}` is no whole number, allowed is 0..=255");
            assert_eq!(ranged(text, Ok::<u8, ConfigError>), Err(fault.clone()));
            assert_eq!(number::<u8>(text), Err(fault));
        }
    }
}

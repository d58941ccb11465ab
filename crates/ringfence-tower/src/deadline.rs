//! The deadline of a call, as gRPC writes it.

use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};
use tokio::time::Instant;

use crate::classify::field;

static GRPC_TIMEOUT: HeaderName = HeaderName::from_static("grpc-timeout");
/// The specification allows eight digits.
const MAX_DIGITS: usize = 8;
const MAX_VALUE: u128 = 99_999_999;

/// Reads `grpc-timeout`; a malformed one counts as absent, as the server will say what it thinks.
pub(crate) fn from_headers(headers: &HeaderMap) -> Option<Instant> {
    let timeout = parse(field(headers, &GRPC_TIMEOUT)?.as_bytes())?;
    Instant::now().checked_add(timeout)
}

/// Writes the rest of the time, so that the next instance knows how long the caller still waits.
pub(crate) fn write_rest(headers: &mut HeaderMap, deadline: Instant, now: Instant) {
    let rest = deadline.saturating_duration_since(now);
    if let Ok(value) = HeaderValue::try_from(format(rest)) {
        headers.insert(GRPC_TIMEOUT.clone(), value);
    }
}

fn parse(value: &[u8]) -> Option<Duration> {
    let (unit, digits) = value.split_last()?;
    if digits.is_empty() || digits.len() > MAX_DIGITS {
        return None;
    }
    let mut number: u64 = 0;
    for digit in digits {
        if !digit.is_ascii_digit() {
            return None;
        }
        number = number * 10 + u64::from(digit - b'0');
    }
    match unit {
        b'H' => Some(Duration::from_secs(number * 3_600)),
        b'M' => Some(Duration::from_secs(number * 60)),
        b'S' => Some(Duration::from_secs(number)),
        b'm' => Some(Duration::from_millis(number)),
        b'u' => Some(Duration::from_micros(number)),
        b'n' => Some(Duration::from_nanos(number)),
        _ => None,
    }
}

/// The finest unit that holds the value in eight digits, rounded down: never more than is left.
fn format(rest: Duration) -> String {
    let units = [
        (rest.as_nanos(), 'n'),
        (rest.as_micros(), 'u'),
        (rest.as_millis(), 'm'),
        (u128::from(rest.as_secs()), 'S'),
        (u128::from(rest.as_secs() / 60), 'M'),
        (u128::from(rest.as_secs() / 3_600), 'H'),
    ];
    let fits = units.iter().find(|(value, _)| *value <= MAX_VALUE);
    match fits {
        Some((value, unit)) => format!("{value}{unit}"),
        None => format!("{MAX_VALUE}H"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_unit() {
        assert_eq!(parse(b"2H"), Some(Duration::from_secs(7_200)));
        assert_eq!(parse(b"3M"), Some(Duration::from_secs(180)));
        assert_eq!(parse(b"4S"), Some(Duration::from_secs(4)));
        assert_eq!(parse(b"500m"), Some(Duration::from_millis(500)));
        assert_eq!(parse(b"6u"), Some(Duration::from_micros(6)));
        assert_eq!(parse(b"99999999n"), Some(Duration::from_nanos(99_999_999)));
    }

    #[test]
    fn malformed_counts_as_absent() {
        for value in ["", "S", "1", "1x", "-1S", "100000000S", "1.5S", " 1S"] {
            assert_eq!(parse(value.as_bytes()), None, "{value}");
        }
    }

    #[test]
    fn the_rest_is_never_more_than_is_left() {
        for nanos in [0, 1, 99_999_999, 100_000_000, 123_456_789_012, u64::MAX] {
            let rest = Duration::from_nanos(nanos);
            let written = parse(format(rest).as_bytes()).expect("well formed");
            assert!(written <= rest, "{nanos}: {written:?}");
            assert!(rest - written <= rest / 1_000, "{nanos}: {written:?}");
        }
        assert!(parse(format(Duration::MAX).as_bytes()).is_some());
    }
}

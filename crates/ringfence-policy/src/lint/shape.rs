use std::str;

use xxhash_rust::xxh3::xxh3_64;

/// What a key looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// A W3C `traceparent`, or 16 or 32 hexadecimal digits.
    Trace,
    /// A UUID of version 1, 6 or 7, or a ULID.
    TimeId,
    /// Seconds to nanoseconds since 1970 in a likely range, or a date with a time.
    Time,
    Other,
}

impl Shape {
    pub(super) fn of(key: &[u8]) -> Self {
        if is_traceparent(key) || is_hex(key, 32) || (is_hex(key, 16) && !is_number(key)) {
            Self::Trace
        } else if is_time_uuid(key) || is_ulid(key) {
            Self::TimeId
        } else if is_epoch(key) || is_date_time(key) {
            Self::Time
        } else {
            Self::Other
        }
    }
}

fn is_hex(key: &[u8], len: usize) -> bool {
    key.len() == len && key.iter().all(u8::is_ascii_hexdigit)
}

fn is_number(key: &[u8]) -> bool {
    key.iter().all(u8::is_ascii_digit)
}

fn is_traceparent(key: &[u8]) -> bool {
    let mut parts = key.split(|byte| *byte == b'-');
    let lens = [2, 32, 16, 2];
    lens.iter()
        .all(|len| parts.next().is_some_and(|part| is_hex(part, *len)))
        && parts.next().is_none()
}

fn is_time_uuid(key: &[u8]) -> bool {
    let mut parts = key.split(|byte| *byte == b'-');
    let lens = [8, 4, 4, 4, 12];
    lens.iter()
        .all(|len| parts.next().is_some_and(|part| is_hex(part, *len)))
        && parts.next().is_none()
        && matches!(key.get(14), Some(b'1' | b'6' | b'7'))
}

fn is_ulid(key: &[u8]) -> bool {
    let is_digit =
        |byte: &u8| byte.is_ascii_digit() || (byte.is_ascii_uppercase() && !b"ILOU".contains(byte));
    key.len() == 26 && matches!(key.first(), Some(b'0'..=b'7')) && key.iter().all(is_digit)
}

/// 2001 to 2100.
fn is_epoch(key: &[u8]) -> bool {
    let Some(number) = str::from_utf8(key)
        .ok()
        .and_then(|text| text.parse::<u128>().ok())
    else {
        return false;
    };
    [1, 1_000, 1_000_000, 1_000_000_000]
        .iter()
        .any(|unit| (1_000_000_000 * unit..4_102_444_800 * unit).contains(&number))
}

/// `2026-01-31T12:00:00`, with a blank for the T, and with whatever follows.
fn is_date_time(key: &[u8]) -> bool {
    let pattern = b"0000-00-00T00:00:00";
    key.len() >= pattern.len()
        && key.iter().zip(pattern).all(|(byte, form)| match form {
            b'0' => byte.is_ascii_digit(),
            b'T' => matches!(byte, b'T' | b't' | b' '),
            form => byte == form,
        })
}

/// A key that ends in digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SplitNumber {
    /// A hash of what is before them.
    pub(super) prefix: u64,
    pub(super) number: u128,
}

impl SplitNumber {
    pub(super) fn of(key: &[u8]) -> Option<Self> {
        if is_date_time(key) {
            // A date and its time are one number to whoever compares them.
            return Some(Self {
                prefix: xxh3_64(&[]),
                number: number(key.iter().filter(|byte| byte.is_ascii_digit()))?,
            });
        }
        let is_digit = |byte: &&u8| byte.is_ascii_digit();
        let digits = key.iter().rev().take_while(is_digit).count();
        let (prefix, digits) = key.split_at(key.len() - digits);
        Some(Self {
            prefix: xxh3_64(prefix),
            number: number(digits.iter())?,
        })
    }
}

/// `None` for no digits and for too many.
fn number<'a>(mut digits: impl Iterator<Item = &'a u8>) -> Option<u128> {
    let value = |byte: &u8| u128::from(byte.wrapping_sub(b'0'));
    let first = value(digits.next()?);
    digits.try_fold(first, |number, byte| {
        number.checked_mul(10)?.checked_add(value(byte))
    })
}

use std::{cmp::Ordering, io::Write};

use serde_json::{Map, Number, Value};

/// Integers up to here are the same as floating-point numbers.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// The usual form of a JSON text; `None` where it is none. As RFC 8785 has it, but integers of 64 bits keep all digits and
/// very large and small numbers have the shortest form that Rust writes.
pub(super) fn canonical(text: &[u8]) -> Option<Vec<u8>> {
    // Only what starts like JSON is worth the reader's time.
    let start = text.trim_ascii_start().first()?;
    if !matches!(
        start,
        b'{' | b'[' | b'"' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n'
    ) {
        return None;
    }
    let value = serde_json::from_slice(text).ok()?;
    let mut written = Vec::with_capacity(text.len());
    write(&value, &mut written)?;
    Some(written)
}

fn write(value: &Value, to: &mut Vec<u8>) -> Option<()> {
    match value {
        Value::Null | Value::Bool(_) | Value::String(_) => serde_json::to_writer(to, value).ok(),
        Value::Number(number) => write_number(number, to),
        Value::Array(items) => {
            to.push(b'[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    to.push(b',');
                }
                write(item, to)?;
            }
            to.push(b']');
            Some(())
        }
        Value::Object(entries) => write_object(entries, to),
    }
}

fn write_object(entries: &Map<String, Value>, to: &mut Vec<u8>) -> Option<()> {
    let mut sorted: Vec<_> = entries.iter().collect();
    sorted.sort_by(|(a, _), (b, _)| by_utf16(a, b));
    to.push(b'{');
    for (i, (name, value)) in sorted.into_iter().enumerate() {
        if i > 0 {
            to.push(b',');
        }
        serde_json::to_writer(&mut *to, name).ok()?;
        to.push(b':');
        write(value, to)?;
    }
    to.push(b'}');
    Some(())
}

fn by_utf16(a: &str, b: &str) -> Ordering {
    a.encode_utf16().cmp(b.encode_utf16())
}

fn write_number(number: &Number, to: &mut Vec<u8>) -> Option<()> {
    match number.as_f64() {
        Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < EXACT => {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "whole, and smaller than 2 to the 53rd"
            )]
            let whole = float as i64;
            write!(to, "{whole}").ok()
        }
        _ => write!(to, "{number}").ok(),
    }
}

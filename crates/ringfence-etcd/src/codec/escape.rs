//! One segment of a key: any text, without the separator.

use std::fmt::Write as _;

/// `text` with everything but letters, digits and `-._~:@+` percent-encoded.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~:@+".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            // Writing to a string does not fail.
            let _ = write!(escaped, "%{byte:02X}");
        }
    }
    escaped
}

/// The reverse; `None` for an incomplete escape or one that is not UTF-8. Characters that need none may come as they are.
pub(super) fn unescape(segment: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(segment.len());
    let mut rest = segment.as_bytes();
    while let [byte, tail @ ..] = rest {
        rest = tail;
        if *byte != b'%' {
            bytes.push(*byte);
            continue;
        }
        let [high, low, tail @ ..] = rest else {
            return None;
        };
        let (high, low) = (
            char::from(*high).to_digit(16)?,
            char::from(*low).to_digit(16)?,
        );
        bytes.push(u8::try_from(high * 16 + low).ok()?);
        rest = tail;
    }
    String::from_utf8(bytes).ok()
}

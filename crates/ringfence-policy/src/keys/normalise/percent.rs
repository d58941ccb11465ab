use crate::keys::KeyBytes;

/// Decodes escapes of unreserved characters and writes the others with capital digits.
///
/// A character that was decoded can complete an escape that was none before (`%%341`), so after each byte the end of what
/// was written is looked at again: nothing that could be decoded is ever left.
pub(super) fn decode_unreserved(key: KeyBytes<'_>) -> KeyBytes<'_> {
    if !key.contains(&b'%') {
        return key;
    }
    let mut written = KeyBytes::empty();
    for &byte in &*key {
        written.push(byte);
        while let [.., b'%', high, low] = *written
            && let Some(decoded) = hex(high, low)
        {
            if is_unreserved(decoded) {
                let len = written.len();
                written.truncate(len - 3);
                written.push(decoded);
            } else {
                if let [.., high, low] = written.to_mut() {
                    high.make_ascii_uppercase();
                    low.make_ascii_uppercase();
                }
                break;
            }
        }
    }
    written
}

/// The byte that two hexadecimal digits stand for.
pub(crate) fn hex(high: u8, low: u8) -> Option<u8> {
    let digit = |digit: u8| char::from(digit).to_digit(16);
    u8::try_from(digit(high)? * 16 + digit(low)?).ok()
}

fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

use super::{KeyBytes, normalise::percent_hex};

/// The decoded value of the first parameter of this name; one without an equals sign is empty.
pub(super) fn find<'a>(query: &'a str, name: &str) -> Option<KeyBytes<'a>> {
    query.split('&').find_map(|pair| {
        let (found, value) = pair.split_once('=').unwrap_or((pair, ""));
        is(found.as_bytes(), name.as_bytes()).then(|| decode(value.as_bytes()))
    })
}

fn is(encoded: &[u8], name: &[u8]) -> bool {
    encoded == name || (encoded.contains(&b'%') && &*decode(encoded) == name)
}

/// As forms are encoded: percent-escapes, and plus signs for blanks.
fn decode(encoded: &[u8]) -> KeyBytes<'_> {
    if !encoded.iter().any(|byte| matches!(byte, b'%' | b'+')) {
        return KeyBytes::borrowed(encoded);
    }
    let mut decoded = KeyBytes::empty();
    let mut rest = encoded;
    while let [first, behind @ ..] = rest {
        rest = behind;
        match (first, behind) {
            (b'+', _) => decoded.push(b' '),
            (b'%', [high, low, behind @ ..]) => match percent_hex(*high, *low) {
                Some(byte) => {
                    decoded.push(byte);
                    rest = behind;
                }
                None => decoded.push(b'%'),
            },
            _ => decoded.push(*first),
        }
    }
    decoded
}

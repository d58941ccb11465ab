//! gRPC's binary metadata.

use base64::{
    Engine,
    alphabet::STANDARD,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use http::{HeaderValue, header::GetAll};

use super::{KeyBytes, Reading, source::push_with_length};

/// Senders may pad or not, and leave bits set that stand for nothing.
const ENGINE: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// Decoded at a time: a multiple of four digits.
const BLOCK: usize = 64;

/// The values of a name decoded: one as it is, several each with its length. A comma also separates values.
pub(super) fn decoded<'a>(values: &GetAll<'a, HeaderValue>, max_len: usize) -> Reading<'a> {
    let parts = || {
        let values = values.iter().map(HeaderValue::as_bytes);
        values
            .flat_map(|value| value.split(|byte| *byte == b','))
            .map(<[u8]>::trim_ascii)
    };
    let mut key = KeyBytes::empty();
    match (parts().next(), parts().nth(1)) {
        (None, _) => return Reading::Absent,
        (Some(only), None) => {
            if decoded_len(only) > max_len {
                return Reading::TooLong;
            }
            if decode(only, &mut key).is_none() {
                return Reading::Malformed;
            }
        }
        (Some(_), Some(_)) => {
            for part in parts() {
                let mut bytes = KeyBytes::empty();
                if decoded_len(part) > max_len {
                    return Reading::TooLong;
                }
                if decode(part, &mut bytes).is_none() {
                    return Reading::Malformed;
                }
                push_with_length(&mut key, &bytes);
                if key.len() > max_len {
                    return Reading::TooLong;
                }
            }
        }
    }
    Reading::Key(key)
}

fn decoded_len(digits: &[u8]) -> usize {
    let padding = digits
        .iter()
        .rev()
        .take_while(|byte| **byte == b'=')
        .count();
    (digits.len() - padding) / 4 * 3 + (digits.len() - padding) % 4 * 3 / 4
}

fn decode(digits: &[u8], to: &mut KeyBytes<'_>) -> Option<()> {
    let last = digits.chunks(BLOCK).len().saturating_sub(1);
    for (i, block) in digits.chunks(BLOCK).enumerate() {
        let mut bytes = [0; BLOCK];
        let len = ENGINE.decode_slice(block, &mut bytes).ok()?;
        // Padding belongs at the end.
        if i < last && len != BLOCK / 4 * 3 {
            return None;
        }
        to.extend(bytes.get(..len)?);
    }
    Some(())
}

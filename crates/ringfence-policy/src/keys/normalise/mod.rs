//! Bringing keys into a usual form. Each step leaves alone what it made.

mod json;
mod percent;
#[cfg(test)]
mod tests;

use std::str;

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

pub(super) use self::percent::hex as percent_hex;
use super::KeyBytes;
use crate::Normaliser;

impl Normaliser {
    /// Brings a key into this form.
    ///
    /// ```
    /// use ringfence_policy::{KeyBytes, Normaliser};
    ///
    /// let apply = |normaliser: Normaliser, key: &'static str| normaliser.apply(KeyBytes::borrowed(key.as_bytes()));
    /// assert_eq!(&*apply(Normaliser::TrailingSlash, "/carts/"), b"/carts");
    /// assert_eq!(&*apply(Normaliser::PercentDecodeUnreserved, "%61%2f"), b"a%2F");
    /// assert_eq!(&*apply(Normaliser::JsonCanonical, r#"{"b": 1.0, "a": []}"#), br#"{"a":[],"b":1}"#);
    /// ```
    #[must_use]
    pub fn apply(self, key: KeyBytes<'_>) -> KeyBytes<'_> {
        match self {
            Self::Trim => key.narrowed(trim),
            Self::TrailingSlash => key.narrowed(without_trailing_slash),
            Self::UuidLower if is_uuid(&key) => in_lower_case(key),
            Self::UuidLower => key,
            Self::CaseFoldAscii => in_lower_case(key),
            Self::PercentDecodeUnreserved => percent::decode_unreserved(key),
            Self::JsonCanonical => json::canonical(&key).map_or(key, KeyBytes::owned),
            Self::Nfc => nfc(key),
        }
    }
}

fn trim(key: &[u8]) -> &[u8] {
    str::from_utf8(key).map_or_else(|_| key.trim_ascii(), |key| key.trim().as_bytes())
}

fn without_trailing_slash(mut key: &[u8]) -> &[u8] {
    while let [rest @ .., b'/'] = key
        && !rest.is_empty()
    {
        key = rest;
    }
    key
}

fn is_uuid(key: &[u8]) -> bool {
    key.len() == 36
        && key.iter().enumerate().all(|(i, byte)| match i {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

fn in_lower_case(mut key: KeyBytes<'_>) -> KeyBytes<'_> {
    if key.iter().any(u8::is_ascii_uppercase) {
        key.to_mut().make_ascii_lowercase();
    }
    key
}

fn nfc(key: KeyBytes<'_>) -> KeyBytes<'_> {
    let composed = match str::from_utf8(&key) {
        Ok(text) if is_nfc_quick(text.chars()) != IsNormalized::Yes => {
            text.nfc().collect::<String>()
        }
        _ => return key,
    };
    KeyBytes::owned(composed.into_bytes())
}

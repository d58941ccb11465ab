use http::{HeaderMap, header::COOKIE};

/// The value of the first cookie of this name.
pub(super) fn find<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a [u8]> {
    let lines = headers.get_all(COOKIE).iter();
    let mut pairs = lines.flat_map(|line| line.as_bytes().split(|byte| *byte == b';'));
    pairs.find_map(|pair| {
        let pair = pair.trim_ascii();
        let equals = pair.iter().position(|byte| *byte == b'=')?;
        let (found, value) = pair.split_at_checked(equals)?;
        if found.trim_ascii_end() != name.as_bytes() {
            return None;
        }
        let value = value.strip_prefix(b"=")?.trim_ascii_start();
        let unquoted = value
            .strip_prefix(b"\"")
            .and_then(|value| value.strip_suffix(b"\""));
        Some(unquoted.unwrap_or(value))
    })
}

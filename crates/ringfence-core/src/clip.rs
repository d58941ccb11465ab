/// Most characters that are kept.
const MAX_CHARS: usize = 128;

/// What a message or a log line may keep of a text from outside: at most 128 characters, none of them a control character,
/// so that it can neither flood a log nor forge a line in it.
///
/// ```
/// assert_eq!(ringfence_core::clip("10.0.0.1\nERROR forged"), "10.0.0.1ERROR forged");
/// assert_eq!(ringfence_core::clip(&"x".repeat(1_000)).len(), 128);
/// ```
#[must_use]
pub fn clip(text: &str) -> String {
    text.chars()
        .filter(|c| !c.is_control())
        .take(MAX_CHARS)
        .collect()
}

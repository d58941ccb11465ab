/// Most characters that are kept.
const MAX_CHARS: usize = 200;

/// Bounds foreign text and takes out what could break a log line. Longer than that of the core, since what a server or the text
/// of a record says makes sense as a whole only.
pub(crate) fn clip(text: &str) -> String {
    let printable = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    printable.take(MAX_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_floods_a_log_or_forges_a_line_in_it() {
        assert_eq!(clip("denied\nERROR forged\u{1b}"), "denied ERROR forged ");
        assert_eq!(clip(&"ü".repeat(1_000)), "ü".repeat(MAX_CHARS));
    }
}

//! How much of a reply is read.

/// Largest reply that is read. A delegation has some kilobytes, a full page of search hits some hundred. No outside
/// reference.
pub(crate) const LARGEST_REPLY: usize = 1024 * 1024;
/// Most JSON values that are read: a page of 500 records has some ten thousand, and is [asked for in smaller
/// ones](crate::paging) if it has more. A value takes up to some hundred bytes of memory, however short it is. No outside
/// reference.
pub(crate) const MOST_VALUES: usize = 20_000;

/// Whether a text has more than that many values if it is JSON, without reading them.
pub(crate) fn has_more_values(body: &[u8], limit: usize) -> bool {
    let (mut quoted, mut escaped) = (false, false);
    let begins = body.iter().filter(|byte| {
        let begins = !quoted && matches!(byte, b'[' | b'{' | b',' | b':');
        quoted ^= **byte == b'"' && !escaped;
        escaped = quoted && **byte == b'\\' && !escaped;
        begins
    });
    begins.take(limit + 1).count() > limit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_values_of_a_reply_are_counted_before_they_are_read() {
        let cases =
            [(r#"[{"a": 1, "b": []}]"#, 6), (r#""a, b: [{ \" , c \\", 1"#, 1), ("", 0), ("plain, text", 1)];
        for (text, count) in cases {
            assert!(!has_more_values(text.as_bytes(), count), "{text}");
            assert!(count == 0 || has_more_values(text.as_bytes(), count - 1), "{text}");
        }
    }
}

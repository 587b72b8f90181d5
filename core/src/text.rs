//! Texts that come from elsewhere, made fit for a sentence: whoever writes them must not be able to write a line of a
//! log, move a terminal's cursor, or fill a condition.

use std::borrow::Cow;

/// Longest text from elsewhere that one sentence quotes, in characters; a person reads less. No outside reference.
pub const QUOTED: usize = 300;

/// The text with every character escaped that is none to be seen: controls, line and paragraph separators, and those
/// that turn the direction of writing.
pub fn one_line(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unseen) {
        return Cow::Borrowed(text);
    }
    let escape = |c: char| if is_unseen(c) { c.escape_default().to_string() } else { c.to_string() };
    Cow::Owned(text.chars().map(escape).collect())
}

/// The same, cut after [`QUOTED`] characters.
pub fn quoted(text: &str) -> String {
    let mut start: String = text.chars().take(QUOTED).collect();
    if start.len() < text.len() {
        start.push('…');
    }
    one_line(&start).into_owned()
}

/// Controls, separators (Unicode §23.1) and marks of direction (UAX 9).
fn is_unseen(c: char) -> bool {
    let separator = matches!(c, '\u{2028}' | '\u{2029}');
    let direction = matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c.is_control() || separator || direction
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_seen_is_escaped_and_all_else_stays() {
        let cases = [
            ("ns1.isp.example", "ns1.isp.example"),
            ("Zürich, 東京", "Zürich, 東京"),
            ("a\nINFO forged", "a\\nINFO forged"),
            ("\u{1b}[2J\r\t\0", "\\u{1b}[2J\\r\\t\\u{0}"),
            ("\u{9b}31m\u{2028}\u{202e}", "\\u{9b}31m\\u{2028}\\u{202e}"),
        ];
        for (text, line) in cases {
            assert_eq!(one_line(text), line);
        }
    }

    #[test]
    fn a_long_text_is_cut() {
        assert_eq!(quoted(&"ä".repeat(300)), "ä".repeat(300));
        assert_eq!(quoted(&"ä".repeat(301)), format!("{}…", "ä".repeat(300)));
    }
}

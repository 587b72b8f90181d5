//! The text of a TXT record.

use std::fmt;

/// Longest character string (RFC 1035 §3.3), in bytes.
const LONGEST_STRING: usize = 255;

/// All character strings of one TXT record, one behind the other: that is how readers take them (RFC 7208 §3.3), so
/// where they are cut is no difference.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Text(String);

/// A text that is not written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the text {0:?} has a quotation mark, a backslash or a control character, which are not kept alike everywhere; leave them out"
)]
pub struct BadText(pub String);

impl Text {
    /// What external-dns sends: a text in quotes, several of them, or one that is bare with all its blanks.
    ///
    /// # Errors
    /// It has characters that are not sure to survive.
    pub fn of_target(target: &str) -> Result<Self, BadText> {
        let target = target.trim();
        let in_quotes = target.len() >= 2 && target.starts_with('"') && target.ends_with('"');
        let text = if in_quotes { strings(target).concat() } else { target.to_owned() };
        match text.contains(|c: char| c == '"' || c == '\\' || c.is_control()) {
            true => Err(BadText(target.to_owned())),
            false => Ok(Self(text)),
        }
    }

    /// A list of character strings as in a zone file: blanks outside quotes separate them. Whatever it is, it is one.
    pub fn of_strings(list: &str) -> Self {
        Self(strings(list).concat())
    }

    /// What [`Display`](fmt::Display) writes of a text, whatever it has in it.
    pub(super) fn of_quoted(quoted: &str) -> Self {
        let inner = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(quoted);
        let (mut text, mut chars) = (String::new(), inner.chars());
        while let Some(c) = chars.next() {
            text.extend(if c == '\\' { chars.next() } else { Some(c) });
        }
        Self(text)
    }

    /// The list of character strings in quotes, none too long.
    pub fn to_strings(&self) -> String {
        let mut strings = vec![String::new()];
        for c in self.0.chars() {
            match strings.last_mut() {
                Some(last) if last.len() + c.len_utf8() <= LONGEST_STRING => last.push(c),
                _ => strings.push(c.to_string()),
            }
        }
        strings.iter().map(|string| format!("\"{string}\"")).collect::<Vec<_>>().join(" ")
    }

    /// The text alone.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// As external-dns writes it: in quotes, however long.
impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0.replace('\\', "\\\\").replace('"', "\\\""))
    }
}

fn strings(list: &str) -> Vec<String> {
    let mut strings: Vec<String> = Vec::new();
    let (mut quoted, mut open) = (false, false);
    for c in list.chars() {
        match c {
            '"' => (quoted, open) = (!quoted, false),
            c if c.is_ascii_whitespace() && !quoted => open = false,
            c => {
                if !std::mem::replace(&mut open, true) {
                    strings.push(String::new());
                }
                strings.last_mut().into_iter().for_each(|last| last.push(c));
            }
        }
    }
    strings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_one_text_in_quotes_or_bare() {
        let cases = [
            (
                "\"heritage=external-dns,external-dns/owner=eu\"",
                "heritage=external-dns,external-dns/owner=eu",
            ),
            ("v=spf1 include:example.com -all", "v=spf1 include:example.com -all"),
            ("\"v=spf1 -all\"", "v=spf1 -all"),
            ("\"v=DKIM1; \" \"p=AAA\"", "v=DKIM1; p=AAA"),
            ("\"\"", ""),
        ];
        for (target, text) in cases {
            assert_eq!(Text::of_target(target).unwrap().as_str(), text, "{target}");
        }
        for bad in ["a\"b", "\"a\\\"b\"", "c:\\dir", "a\nb"] {
            assert!(Text::of_target(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_list_of_a_zone_file_is_read_with_and_without_quotes() {
        let cases = [
            ("token123", "token123"),
            ("\"hello world\"", "hello world"),
            ("\"v=DKIM1; p=AAA\" BBB", "v=DKIM1; p=AAABBB"),
            ("This is split", "Thisissplit"),
            ("", ""),
        ];
        for (list, text) in cases {
            assert_eq!(Text::of_strings(list).as_str(), text, "{list}");
        }
    }

    #[test]
    fn a_long_text_is_cut_into_strings_and_read_as_one() {
        let text = Text::of_target(&"ä".repeat(200)).unwrap();
        let written = text.to_strings();
        assert_eq!(written, format!("\"{}\" \"{}\"", "ä".repeat(127), "ä".repeat(73)));
        assert_eq!(Text::of_strings(&written), text);
        assert_eq!(Text::of_target(&written).unwrap(), text);
        assert_eq!(text.to_string(), format!("\"{}\"", "ä".repeat(200)));
        assert_eq!(Text::of_target("").unwrap().to_strings(), "\"\"");
    }
}

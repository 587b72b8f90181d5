//! The text of a TXT record: a list of character strings written as in a zone file.

/// Splits the text at blanks outside double quotes.
pub(crate) fn strings(text: &str) -> Vec<String> {
    let mut strings = Vec::new();
    let mut current: Option<String> = None;
    let mut quoted = false;
    for c in text.chars() {
        match c {
            '"' => {
                if quoted {
                    strings.extend(current.take());
                } else {
                    strings.extend(current.replace(String::new()));
                }
                quoted = !quoted;
            }
            ' ' | '\t' if !quoted => strings.extend(current.take()),
            _ => current.get_or_insert_default().push(c),
        }
    }
    strings.extend(current);
    strings
}

/// The text as a read shows it: a string without a blank loses its quotes.
pub(crate) fn canonical(text: &str) -> String {
    let shown = |string: &String| {
        if string.contains(' ') || string.is_empty() { format!("\"{string}\"") } else { string.clone() }
    };
    strings(text).iter().map(shown).collect::<Vec<_>>().join(" ")
}

/// The text as the database key holds it: every string in quotes.
pub(crate) fn stored(text: &str) -> String {
    strings(text).iter().map(|string| format!("\"{string}\"")).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_vanish_around_strings_without_blanks_and_stay_around_others() {
        assert_eq!(canonical("\"token123\""), "token123");
        assert_eq!(canonical("\"hello world\""), "\"hello world\"");
        assert_eq!(canonical("\"v=DKIM1; p=AAA\" \"BBB\""), "\"v=DKIM1; p=AAA\" BBB");
        assert_eq!(canonical("This a host server"), "This a host server");
    }

    #[test]
    fn unquoted_words_are_separate_strings_in_the_database_key() {
        assert_eq!(stored("This is split"), "\"This\" \"is\" \"split\"");
    }
}

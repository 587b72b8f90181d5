//! Finds what must not be shown in a foreign text, in whatever escapes a page, a link or JSON has for its letters. Pure.

use std::ops::Range;

/// Escapes within escapes that are looked through: JSON in JSON in a link.
const DEEPEST: usize = 3;
/// What an entity of HTML may have between `&` and `;`.
const LONGEST_ENTITY: usize = 8;

/// One letter, and where the text has it.
#[derive(Clone)]
struct Letter {
    letter: char,
    stands: Range<usize>,
}

/// The text without these, each replaced by three stars.
pub(crate) fn hide<'a>(text: &str, secrets: impl Iterator<Item = &'a str> + Clone) -> String {
    let mut letters: Vec<Letter> = text
        .char_indices()
        .map(|(at, letter)| Letter { letter, stands: at..at + letter.len_utf8() })
        .collect();
    let mut found: Vec<Range<usize>> = Vec::new();
    for depth in 0..=DEEPEST {
        found.extend(secrets.clone().flat_map(|secret| places_of(secret, &letters)));
        if depth == DEEPEST || !unescape(&mut letters) {
            break;
        }
    }
    found.sort_by_key(|range| range.start);
    let (mut shown, mut end) = (String::new(), 0);
    for range in found {
        // What overlaps is one place.
        if range.start >= end {
            shown.push_str(text.get(end..range.start).unwrap_or_default());
            shown.push_str("***");
        }
        end = end.max(range.end);
    }
    shown.push_str(text.get(end..).unwrap_or_default());
    shown
}

/// Where the letters spell it.
fn places_of(secret: &str, letters: &[Letter]) -> Vec<Range<usize>> {
    let spelled = |begin: usize| {
        let rest = letters.get(begin..)?;
        Some(rest.first()?.stands.start..spelled_at(secret, rest)?)
    };
    (0..letters.len()).filter_map(spelled).collect()
}

/// Where it ends, if these letters begin with it. A line may be broken anywhere, and a form has `+` for a blank.
fn spelled_at(secret: &str, letters: &[Letter]) -> Option<usize> {
    let mut wanted = secret.chars().peekable();
    let mut end = None;
    for Letter { letter, stands } in letters {
        let Some(next) = wanted.peek() else { return end };
        if letter == next || (*next == ' ' && *letter == '+') {
            wanted.next();
            end = Some(stands.end);
        } else if end.is_none() || !matches!(letter, '\r' | '\n') {
            return None;
        }
    }
    end.filter(|_| wanted.peek().is_none())
}

/// Replaces every escape by its letter; gives whether there was one.
fn unescape(letters: &mut Vec<Letter>) -> bool {
    let mut plain = Vec::with_capacity(letters.len());
    let mut rest = letters.as_slice();
    while let [first, others @ ..] = rest {
        let (letter, length) = escaped(rest).unwrap_or((first.letter, 1));
        let last = rest.get(length.saturating_sub(1)).unwrap_or(first);
        plain.push(Letter { letter, stands: first.stands.start..last.stands.end });
        rest = rest.get(length..).unwrap_or(others);
    }
    let any = plain.len() < letters.len();
    *letters = plain;
    any
}

/// The letter that an escape stands for, and how many letters it has.
fn escaped(rest: &[Letter]) -> Option<(char, usize)> {
    let letter = |at: usize| rest.get(at).map(|letter| letter.letter);
    match letter(0)? {
        '%' => percent(rest),
        '&' => entity(rest),
        '\\' => match letter(1)? {
            'u' => unicode(rest),
            'x' => Some((char::from(u8::try_from(hex(rest, 2, 2)?).ok()?), 4)),
            quoted @ ('"' | '\'' | '/' | '\\') => Some((quoted, 2)),
            _ => None,
        },
        _ => None,
    }
}

/// The number in so many hexadecimal digits.
fn hex(rest: &[Letter], begin: usize, digits: usize) -> Option<u32> {
    let digits = rest.get(begin..begin + digits)?;
    digits.iter().try_fold(0, |number, digit| Some(number * 16 + digit.letter.to_digit(16)?))
}

/// `%C3%B6`, or `%F6` of whoever speaks Latin-1 (RFC 3986 §2.1).
fn percent(rest: &[Letter]) -> Option<(char, usize)> {
    let byte = |number: usize| {
        let is_percent = rest.get(3 * number).is_some_and(|letter| letter.letter == '%');
        u8::try_from(hex(rest, 3 * number + 1, 2).filter(|_| is_percent)?).ok()
    };
    let first = byte(0)?;
    let bytes: Vec<u8> = (0..4).map_while(byte).collect();
    let whole = (1..=bytes.len()).find_map(|count| std::str::from_utf8(bytes.get(..count)?).ok());
    Some(
        whole.and_then(|text| Some((text.chars().next()?, 3 * text.len()))).unwrap_or((char::from(first), 3)),
    )
}

/// `&quot;`, `&#34;`, `&#x22;`.
fn entity(rest: &[Letter]) -> Option<(char, usize)> {
    let name: String = rest.iter().skip(1).take(LONGEST_ENTITY + 1).map(|letter| letter.letter).collect();
    let (name, _) = name.split_once(';')?;
    let letter = match name.strip_prefix('#').map(|number| number.strip_prefix(['x', 'X']).ok_or(number)) {
        Some(Ok(digits)) => char::from_u32(u32::from_str_radix(digits, 16).ok()?)?,
        Some(Err(digits)) => char::from_u32(digits.parse().ok()?)?,
        None => match name {
            "amp" => '&',
            "lt" => '<',
            "gt" => '>',
            "quot" => '"',
            "apos" => '\'',
            _ => return None,
        },
    };
    Some((letter, name.chars().count() + 2))
}

/// `\u00f6`, also in two halves.
fn unicode(rest: &[Letter]) -> Option<(char, usize)> {
    let unit = |begin: usize| u16::try_from(hex(rest, begin, 4)?).ok();
    let first = unit(2)?;
    let second =
        rest.get(6..8).filter(|next| next[0].letter == '\\' && next[1].letter == 'u').and_then(|_| unit(8));
    match char::from_u32(first.into()) {
        Some(letter) => Some((letter, 6)),
        None => Some((char::decode_utf16([first, second?]).next()?.ok()?, 12)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECRET: &str = "Zq9/et\"w&d<x>+y='kö 😀";

    fn hidden(text: &str) -> String {
        hide(text, [SECRET].into_iter())
    }

    fn each(spell: impl Fn(char) -> String) -> String {
        SECRET.chars().map(spell).collect()
    }

    fn percent_of(letter: char) -> String {
        letter.encode_utf8(&mut [0; 4]).bytes().map(|byte| format!("%{byte:02x}")).collect()
    }

    fn unicode_of(letter: char) -> String {
        letter.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04X}")).collect()
    }

    #[test]
    fn a_secret_is_hidden_in_whatever_escapes_its_letters_have() {
        let json = serde_json::Value::from(SECRET).to_string();
        let in_json = serde_json::Value::from(json.as_str()).to_string();
        for shown in [
            SECRET.to_owned(),
            json.clone(),
            json.replace('/', "\\/"),
            in_json,
            each(percent_of),
            each(percent_of).replace('%', "%25"),
            each(|letter| if letter.is_ascii_alphanumeric() { letter.into() } else { percent_of(letter) }),
            // As a form has it, and as a link does.
            SECRET.replace('+', "%2B").replace(' ', "+"),
            SECRET.replace('ö', "%F6").replace(' ', "%20"),
            each(unicode_of),
            each(|letter| format!("&#{};", u32::from(letter))),
            each(|letter| format!("&#x{:X};", u32::from(letter))),
            SECRET.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&#34;"),
            SECRET.replace('&', "\\u0026").replace('<', "\\u003c").replace('>', "\\u003E"),
            SECRET.replace('\'', "&#x27;").replace('/', "&#x2F;").replace('=', "&#x3D;"),
            SECRET.replace('\'', "\\x27"),
            SECRET.replace("et", "e\r\nt"),
        ] {
            let quoted = hidden(&format!("a={shown}&b"));
            assert!(quoted.starts_with("a=") && quoted.ends_with("&b"), "{shown}: {quoted}");
            assert!(quoted.trim_matches(['a', '=', '&', 'b', '"', '\\']) == "***", "{shown}: {quoted}");
        }
    }

    #[test]
    fn what_only_begins_like_it_stays() {
        for text in ["Zq9/et\"w&d<x>+y='kö", "Zq9 et", "100 % of it", "a &amp b \\", "%C3", "\\ud83d", ""] {
            assert_eq!(hidden(text), text);
        }
        assert_eq!(hide("aaaa", ["aa", "aaa"].into_iter()), "***");
    }

    proptest! {
        #[test]
        fn any_text_is_taken_and_nothing_but_the_secret_is_lost(before in "[%&\\\\u0-9a-f;#x]{0,20}", after in "\\PC{0,20}") {
            prop_assume!(!before.contains('Z') && !before.ends_with(['%', '&', '\\']));
            let quoted = hidden(&format!("{before} {SECRET} {after}"));
            let expected_tail = hidden(&after);
            prop_assert_eq!(quoted, format!("{before} *** {expected_tail}"));
        }
    }
}

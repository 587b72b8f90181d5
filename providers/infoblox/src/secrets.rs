//! What a grid, or whatever answers in its place, says in its own words: on one line, of bounded length, and without what
//! we sent it as a credential, which a debugging proxy repeats.

use std::cmp::Reverse;
use std::collections::{BTreeSet, VecDeque};
use std::sync::{Mutex, PoisonError};

use gslb_core::text::one_line;
use reqwest::header::{AUTHORIZATION, COOKIE, HeaderMap};
use secrecy::{ExposeSecret, SecretString};

/// Longest text of a grid that is quoted, in bytes, up to a letter; a condition's message has 32 KiB, a person reads less.
const QUOTE_LENGTH: usize = 300;
/// How many are remembered: those of a few log-ins, so that one that was changed is not told by a late reply. No outside
/// reference.
const REMEMBERED: usize = 12;
/// A text as short as this is part of words, and hiding it would only show where it is.
const SHORTEST: usize = 3;

/// Credentials and sessions that were sent lately.
#[derive(Default)]
pub(crate) struct Secrets(Mutex<VecDeque<SecretString>>);

impl Secrets {
    /// Nobody is told this.
    pub(crate) fn note(&self, secret: &str) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_known = known.iter().any(|known| known.expose_secret() == secret);
        if secret.len() < SHORTEST || is_known {
            return;
        }
        if known.len() == REMEMBERED {
            known.pop_front();
        }
        known.push_back(SecretString::from(secret));
    }

    /// What a request carries as a credential: the token of Basic, and the value of the session cookie.
    pub(crate) fn note_headers(&self, headers: &HeaderMap) {
        let values =
            [AUTHORIZATION, COOKIE].map(|name| headers.get(name).and_then(|value| value.to_str().ok()));
        for value in values.into_iter().flatten() {
            let value = value
                .trim_start_matches("Basic ")
                .split_once("ibapauth=")
                .map_or_else(|| value.trim_start_matches("Basic "), |(_, cookie)| cookie.trim_matches('"'));
            self.note(value);
            // A page may show the pieces of a list one by one; the last one is the session's key.
            if let Some((_, key)) = value.rsplit_once(',') {
                self.note(key);
            }
        }
    }

    /// A foreign text as a person may read it.
    pub(crate) fn quote(&self, text: &str) -> String {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut secrets: Vec<String> =
            known.iter().flat_map(|secret| spellings(secret.expose_secret())).collect();
        // One that is a part of another must not leave the rest of it.
        secrets.sort_by_key(|secret| Reverse(secret.len()));
        short(&secrets.into_iter().fold(text.to_owned(), |text, secret| text.replace(&secret, "***")))
    }
}

/// A secret as a page, a link or JSON shows it: as it is, without the padding of Base64, and percent-, HTML- and
/// JSON-encoded.
fn spellings(secret: &str) -> BTreeSet<String> {
    let bare = secret.trim_end_matches('=');
    let percent = |upper: bool, plus: bool| -> String {
        let encode = |byte: u8| match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                char::from(byte).to_string()
            }
            b' ' if plus => "+".to_owned(),
            _ if upper => format!("%{byte:02X}"),
            _ => format!("%{byte:02x}"),
        };
        bare.bytes().map(encode).collect()
    };
    let html = |quote: &str| {
        let text = bare.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        text.replace('"', "&quot;").replace('\'', quote)
    };
    let json = serde_json::Value::from(bare).to_string();
    let ascii: String = json.chars().map(escaped).collect();
    let inner = |json: &str| json.trim_matches('"').to_owned();
    let all = [
        secret.to_owned(),
        bare.to_owned(),
        percent(true, false),
        percent(false, false),
        percent(true, true),
        html("&#39;"),
        html("&#x27;"),
        html("'"),
        json[1..json.len() - 1].to_owned(),
        inner(&json).replace('/', "\\/"),
        ascii[1..ascii.len() - 1].to_owned(),
    ];
    all.into_iter().filter(|spelling| spelling.len() >= SHORTEST).collect()
}

/// As JSON that is pure ASCII has it.
fn escaped(letter: char) -> String {
    if letter.is_ascii() {
        return letter.to_string();
    }
    letter.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect()
}

/// A foreign text on one line, of bounded length.
pub(crate) fn short(text: &str) -> String {
    let blank = |c: char| c.is_whitespace() || c.is_control();
    let mut line = String::new();
    for (count, c) in text.trim_matches(blank).chars().map(|c| if blank(c) { ' ' } else { c }).enumerate() {
        // What is left out is blanks in a row at most, so a longer text than this need not be looked at to its end.
        if line.len() >= QUOTE_LENGTH || count >= QUOTE_LENGTH * 4 {
            break;
        }
        if c != ' ' || !line.ends_with(' ') {
            line.push(c);
        }
    }
    one_line(line.trim_end().trim_end_matches('.')).into_owned()
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderValue;

    use super::*;

    #[test]
    fn a_text_is_quoted_on_one_line_bounded_and_without_what_was_sent() {
        let secrets = Secrets::default();
        secrets.note("two words");
        secrets.note("");
        assert_eq!(secrets.quote(" a\n\tb \u{7}two words. "), "a b ***");
        assert_eq!(secrets.quote(&"ä ".repeat(1_000)).len(), 299);
        assert_eq!(short(&"x".repeat(1_000)).len(), 300);
    }

    #[test]
    fn a_secret_that_is_a_part_of_another_leaves_nothing_of_it_and_a_key_is_hidden_alone_too() {
        let secrets = Secrets::default();
        secrets.note("4d1e");
        let cookie = r#"ibapauth="ip=192.0.2.7,user=svc-dns,4d1e8a0b""#;
        secrets.note_headers(&HeaderMap::from_iter([(COOKIE, HeaderValue::from_static(cookie))]));
        assert_eq!(secrets.quote(cookie), "ibapauth=\"***\"");
        assert_eq!(secrets.quote("key 4d1e8a0b, \u{202e}4d1e"), "key ***, \\u{202e}***");
    }

    /// A link of a portal, a debugging page, a reply that is JSON.
    #[test]
    fn a_secret_is_hidden_in_every_spelling_that_a_page_a_link_or_json_has_for_it() {
        let secrets = Secrets::default();
        secrets.note("S3cr/et\"wörd&<x>+y='z'");
        secrets.note("c3ZjLWRuczpTM2Ny==");
        for shown in [
            "S3cr/et\"wörd&<x>+y='z'",
            "S3cr%2Fet%22w%C3%B6rd%26%3Cx%3E%2By%3D%27z%27",
            "S3cr%2fet%22w%c3%b6rd%26%3cx%3e%2by%3d%27z%27",
            "S3cr/et&quot;wörd&amp;&lt;x&gt;+y=&#39;z&#39;",
            "S3cr/et&quot;wörd&amp;&lt;x&gt;+y='z'",
            r#"S3cr/et\"wörd&<x>+y='z'"#,
            r#"S3cr\/et\"wörd&<x>+y='z'"#,
            r#"S3cr/et\"w\u00f6rd&<x>+y='z'"#,
            "c3ZjLWRuczpTM2Ny%3D%3D",
            "c3ZjLWRuczpTM2Ny",
        ] {
            let quoted = secrets.quote(&format!("a={shown}&b"));
            assert!(quoted.starts_with("a=***") && !quoted.contains("TM2Ny"), "{shown}: {quoted}");
        }
    }

    #[test]
    fn the_oldest_of_many_is_forgotten() {
        let secrets = Secrets::default();
        (0..=REMEMBERED).for_each(|number| secrets.note(&format!("password-{number:02}")));
        assert_eq!(secrets.quote("password-00 password-01"), "password-00 ***");
    }
}

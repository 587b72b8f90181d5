//! What a grid, or whatever answers in its place, says in its own words: on one line, of bounded length, and without what
//! we sent it as a credential, which a debugging proxy repeats.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Mutex, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use gslb_core::text::one_line;
use reqwest::header::{AUTHORIZATION, COOKIE, HeaderMap};
use secrecy::{ExposeSecret, SecretString};

use crate::disguise::hide;

/// Longest text of a grid that is quoted, in bytes, up to a letter; a condition's message has 32 KiB, a person reads less.
const QUOTE_LENGTH: usize = 300;
/// How many are remembered: those of a few log-ins, so that one that was changed is not told by a late reply. No outside
/// reference.
const REMEMBERED: usize = 12;
/// A text as short as this is part of words, and hiding it would only show where it is.
const SHORTEST: usize = 3;
/// As short a piece of Base64 or hexadecimal digits is part of other ones.
const SHORTEST_ENCODED: usize = 6;
/// As many bytes of a text are looked at: far more than are shown, as an escape may have some ten for a letter.
const LOOKED_AT: usize = 16 * 1024;

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
        let secrets: Vec<String> = known.iter().flat_map(|secret| forms(secret.expose_secret())).collect();
        // No more of it is ever shown.
        let begin = &text[..text.floor_char_boundary(LOOKED_AT)];
        short(&hide(begin, secrets.iter().map(String::as_str)))
    }
}

/// A secret as it is, without the padding of Base64, and in Base64 and hexadecimal digits, whatever stands in front of it
/// there. [`hide`] knows the escapes of each.
fn forms(secret: &str) -> BTreeSet<String> {
    let bare = secret.trim_end_matches('=');
    let encoded = |before: usize| {
        let bytes = [&[0; 2][..before], secret.as_bytes()].concat();
        // Letters that the secret alone decides about.
        let own = (before * 8).div_ceil(6)..bytes.len() * 8 / 6;
        [STANDARD_NO_PAD.encode(&bytes), URL_SAFE_NO_PAD.encode(&bytes)]
            .map(|text| text[own.clone()].to_owned())
    };
    let hexadecimal = [hex::encode(secret), hex::encode_upper(secret)];
    let encoded = (0..3).flat_map(encoded).chain(hexadecimal).filter(|form| form.len() >= SHORTEST_ENCODED);
    [secret.to_owned(), bare.to_owned()]
        .into_iter()
        .filter(|form| form.len() >= SHORTEST)
        .chain(encoded)
        .collect()
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

    #[test]
    fn a_secret_is_hidden_in_base64_and_hexadecimal_digits_wherever_it_stands_there() {
        let secrets = Secrets::default();
        secrets.note("Zq9/et\"w&d<x>+y");
        secrets.note("c3ZjLWRuczpTM2Ny==");
        for before in ["", "u:", "me:", "svc-dns:"] {
            let text = format!("{before}Zq9/et\"w&d<x>+y");
            for shown in [STANDARD_NO_PAD.encode(&text), URL_SAFE_NO_PAD.encode(&text), hex::encode(&text)] {
                let quoted = secrets.quote(&shown);
                assert!(quoted.contains("***") && quoted.len() < 20, "{shown}: {quoted}");
            }
        }
        for shown in ["c3ZjLWRuczpTM2Ny%3D%3D", "c3ZjLWRuczpTM2Ny", "c3ZjLWRu\r\nczpTM2Ny"] {
            let quoted = secrets.quote(shown);
            assert!(quoted.starts_with("***") && !quoted.contains("TM2Ny"), "{shown}: {quoted}");
        }
    }

    #[test]
    fn the_oldest_of_many_is_forgotten() {
        let secrets = Secrets::default();
        (0..=REMEMBERED).for_each(|number| secrets.note(&format!("password-{number:02}")));
        assert_eq!(secrets.quote("password-00 password-01"), "password-00 ***");
    }
}

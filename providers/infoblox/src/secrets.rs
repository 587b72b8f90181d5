//! What a grid, or whatever answers in its place, says in its own words: on one line, of bounded length, and without what
//! we sent it as a credential, which a debugging proxy repeats.

use std::cmp::Reverse;
use std::collections::VecDeque;
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
        let mut secrets: Vec<&str> = known.iter().map(|secret| secret.expose_secret()).collect();
        // One that is a part of another must not leave the rest of it.
        secrets.sort_by_key(|secret| Reverse(secret.len()));
        short(&secrets.into_iter().fold(text.to_owned(), |text, secret| text.replace(secret, "***")))
    }
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
    fn the_oldest_of_many_is_forgotten() {
        let secrets = Secrets::default();
        (0..=REMEMBERED).for_each(|number| secrets.note(&format!("password-{number:02}")));
        assert_eq!(secrets.quote("password-00 password-01"), "password-00 ***");
    }
}

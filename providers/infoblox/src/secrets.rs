//! What a grid, or whatever answers in its place, says in its own words: on one line, of bounded length, and without what
//! we sent it as a credential, which a debugging proxy repeats.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

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
        }
    }

    /// A foreign text as a person may read it.
    pub(crate) fn quote(&self, text: &str) -> String {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let hidden =
            known.iter().fold(text.to_owned(), |text, secret| text.replace(secret.expose_secret(), "***"));
        short(&hidden)
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
    line.trim_end().trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
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
    fn the_oldest_of_many_is_forgotten() {
        let secrets = Secrets::default();
        (0..=REMEMBERED).for_each(|number| secrets.note(&format!("password-{number:02}")));
        assert_eq!(secrets.quote("password-00 password-01"), "password-00 ***");
    }
}
